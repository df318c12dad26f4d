"""Objects under a location: a local folder or a prefix in a bucket."""
