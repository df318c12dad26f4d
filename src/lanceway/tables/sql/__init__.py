"""SQL over tables, by DuckDB: statements, scans, sessions."""
