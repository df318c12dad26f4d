"""Iceberg's metadata: of tables, of views, and of the companions of Lance tables; on pyiceberg's models."""
