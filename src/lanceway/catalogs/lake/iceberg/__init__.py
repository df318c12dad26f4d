"""Iceberg tables and views of a lake: rows that point to metadata files."""
