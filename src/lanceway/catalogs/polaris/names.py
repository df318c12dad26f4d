"""Names that Polaris and Lakekeeper take, and the locations of tables that are declared without one."""

from __future__ import annotations

from lanceway.catalogs.contract.names import alternatives
from lanceway.catalogs.metastore.iceberg.names import check, default_location
from lanceway.catalogs.metastore.tables import own_folder
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier, check_visible
from lanceway.wire.generic_tables import GenericDialect


def check_new(identifier: Identifier, dialect: GenericDialect) -> None:
    """Refuse the name of a new object that the service would refuse, before it is asked."""
    check(identifier)
    name = identifier.name
    check_visible(name)
    refused = next((character for character in name if character in dialect.refused), None)
    if refused is not None:
        raise InvalidInputError(
            f"{list(identifier)!r} cannot be used: the name {name!r} holds {refused!r}, which {dialect.name} refuses. "
            f"Use {alternatives(name, refused)}."
        )


def new_location(root: str, table: Identifier, claim: str) -> str:
    """Return a folder below the root that no other table ever has, not even the next one of this name."""
    return default_location(root, table.parent.child(own_folder(table.name, claim)))


def location_inside(namespace: str, table: Identifier, claim: str) -> str:
    """Return a folder below the location of the table's namespace."""
    whole = new_location("root://x", table, claim)  # which checks the names
    return f"{namespace.rstrip('/')}/{whole.rpartition('/')[2]}"
