"""The lake: Lanceway's own catalog, with nested namespaces and versions that cannot be lost.

It answers the contract from the rows of a database, SQLite or PostgreSQL (`lanceway.lake`), and keeps data in a
warehouse on any storage. By default it owns the versions of its tables: a version is claimed in the database, and
what somebody writes to storage behind it is never shown.

    lake_connection   settings, the database, the catalog in it
    lake_namespaces   namespaces, one by one and by logical path
    lake_tables       tables: declared, registered, renamed, dropped
    lake_manifests    a managed table's manifests: rows and storage brought together
    lake_claims       versions: claimed
    lake_versions     versions and branches: listed, described, deleted
    lake_batches      several tables in one transaction
    lake_glances      what is answered at once
    lake_repair       what rows and storage disagree on
"""

from __future__ import annotations

from lanceway.catalogs.lake.fast_reads import LakeGlances
from lanceway.catalogs.lake.repair import Difference, LakeRepair
from lanceway.catalogs.lake.tables import VERSIONING

__all__ = ["VERSIONING", "Difference", "LakeCatalog"]


class LakeCatalog(LakeRepair, LakeGlances):
    """One catalog of a lake; any number of processes may use it at once."""
