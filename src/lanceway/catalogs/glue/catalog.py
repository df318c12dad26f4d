"""AWS Glue: Lance tables in its Data Catalog, and in whatever speaks its API.

glue_settings     what may be set
glue_credentials  who asks: keys, the default chain, an assumed role
glue_client       the one place where Glue is called
glue_errors       what it answers, as the contract's errors
glue_names        names, and the ids of catalogs
glue_connection   which catalog an identifier lies in
glue_namespaces   catalogs and databases
glue_tables       tables: declared, registered, renamed, dropped
glue_types        Arrow types in Hive's words
glue_columns      a schema as Glue's columns
glue_schemas      columns that follow the dataset
"""

from __future__ import annotations

from lanceway.catalogs.glue.errors import GlueForbiddenError
from lanceway.catalogs.glue.schemas import GlueSchemas

__all__ = ["GlueCatalog", "GlueForbiddenError"]


class GlueCatalog(GlueSchemas):
    """A Glue Data Catalog: `[database, table]`, and `[catalog…, database, table]` where there are child catalogs."""
