"""What catalogs share that keep their tables in an external service."""
