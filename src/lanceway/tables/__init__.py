"""Every operation on one Lance dataset, on pylance. This room knows locations, never catalogs."""
