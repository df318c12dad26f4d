"""Lance tables in any Iceberg REST catalog, as the specification of that mapping says.

    [warehouse, namespace…, table]      the root lists the configured warehouse

Each module adds what the one above it has not:

    iceberg_connection   settings, warehouses and their prefixes, one request after another
    iceberg_namespaces   namespaces of any depth
    iceberg_lookup       tables: found and listed
    iceberg_tables       tables: declared, registered, renamed, dropped
"""

from __future__ import annotations

from lanceway.catalogs.iceberg.tables import IcebergTables


class IcebergCatalog(IcebergTables):
    """An Iceberg REST catalog that keeps Lance tables beside its own."""
