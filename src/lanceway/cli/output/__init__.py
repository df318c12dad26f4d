"""All that is printed: for people and, with `--json`, for programs."""
