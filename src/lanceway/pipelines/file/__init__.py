"""A pipeline's YAML file: read, checked, and turned into a pipeline."""
