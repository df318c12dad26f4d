"""Iceberg REST: the catalogs of the tree for any Iceberg client."""
