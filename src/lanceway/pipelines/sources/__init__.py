"""Sources of a pipeline: files, tables and streams."""
