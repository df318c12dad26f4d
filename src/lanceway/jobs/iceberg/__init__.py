"""Iceberg tables that become Lance tables, and back: how types map, where tables are, and the two jobs."""
