"""The tree in the lake's database: metalakes, catalogs, namespaces and tables."""
