"""Schemas: columns, fields, metadata, computed columns, views."""
