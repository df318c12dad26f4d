"""What catalogs share that speak Iceberg REST: its warehouses and namespaces, and what it vends for storage."""
