"""Gravitino REST, at `/api`: the metalake with catalogs, schemas, tables, users, groups, roles, grants and owners."""
