"""Names in a Hive Metastore, which keeps them in lower case, and the locations of what is made without one."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from lanceway.catalogs.contract.names import alternatives
from lanceway.catalogs.metastore.http import absolute_path
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.tables import dataset

# The catalog that every metastore of version 3 or later begins with: its databases are directly below the root.
FIRST_CATALOG = "hive"
# The columns of the metastore's own tables have room for no more.
_LONGEST = 128
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# What every version takes in a name; some versions take more.
_REFUSED = re.compile(r"[^a-z0-9_]")
# On the wire, `@catalog#database` names a database, and an exclamation mark none.
_REASONS = {
    **dict.fromkeys("@#!", "which joins catalog and database in the metastore's protocol"),
    **dict.fromkeys("/\\", "which separates the parts of a path"),
}


class HivePlace(NamedTuple):
    """A database; its catalog is None in a metastore without any, or for the metastore's default."""

    catalog: str | None
    database: str

    @property
    def wire(self) -> str:
        """Return the name by which the older requests of the protocol know the database."""
        return self.database if self.catalog is None else f"@{self.catalog}#{self.database}"


def folded(identifier: Identifier) -> Identifier:
    """Return an identifier as Hive keeps it. Raises InvalidInputError for names that it would take for others."""
    for name in identifier:
        for character, reason in _REASONS.items():
            if character in name:
                _refuse(identifier, name, f"holds {character!r}, {reason}. Use {alternatives(name, character)}")
        if _CONTROL.search(name):
            _refuse(identifier, name, "holds a control character. Use printable ones")
        if name != name.strip():
            _refuse(identifier, name, f"begins or ends with a space, which Hive takes away. Use {name.strip()!r}")
    return Identifier(name.lower() for name in identifier)


def check_new(identifier: Identifier) -> None:
    """Refuse a new name that not every version of Hive takes. The metastore itself would try for long."""
    name = identifier.name
    refused = _REFUSED.search(name)
    if refused:
        reason = "and Hive takes the letters a to z, digits and '_' in every version"
        _refuse(identifier, name, f"holds {refused[0]!r}, {reason}. Use {_REFUSED.sub('_', name)!r}")
    if len(name) > _LONGEST:
        _refuse(identifier, name, f"has {len(name)} characters. Use at most {_LONGEST}")


def _refuse(identifier: Identifier, name: str, what: str) -> NoReturn:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {name!r} {what}.")


# -- locations -----------------------------------------------------------------------------------


def absolute(location: str) -> str:
    """Return a location as a URI, which means the same wherever the metastore runs, in the metastore's spelling."""
    return normal(dataset.uri(absolute_path(location)))


def normal(location: str) -> str:
    """Return a location in one spelling: Hive drops slashes, those of `file:///` too."""
    scheme, separator, path = location.partition(":")
    if not separator:
        return location
    authority, slash, rest = path.removeprefix("//").partition("/") if path.startswith("//") else ("", "", path)
    folders = "/".join(filter(None, rest.split("/")))
    return f"{scheme}://{authority}{f'/{folders}' if slash or not authority else ''}"


def database_location(root: str, place: HivePlace) -> str:
    """Return `{root}/{database}.db`, below the catalog's name for another catalog than the first."""
    catalog = [] if place.catalog in (None, FIRST_CATALOG) else [place.catalog]
    return "/".join((root.rstrip("/"), *filter(None, catalog), f"{place.database}.db"))
