"""Unity Catalog: Lance tables among its external tables, as the specification of that mapping says.

    [catalog, schema, table]      the catalog is the configured one, and the root lists it

Each module adds what the one above it has not:

    unity_connection    settings, one request after another
    unity_namespaces    the catalog and its schemas
    unity_lookup        tables: found and listed
    unity_tables        tables: declared, forgotten, dropped
    unity_registration  tables: registered and renamed

    unity_requests      answers read, refusals understood
    unity_names         names and locations
    unity_storage       what the server vends, as storage options
    unity_types         Arrow types in Spark's words, which are Unity's
    unity_columns       a schema as Unity's columns
"""

from __future__ import annotations

from lanceway.catalogs.unity.registration import UnityRegistration


class UnityCatalog(UnityRegistration):
    """A catalog of a Unity Catalog server, open source or Databricks: `[catalog, schema, table]`."""
