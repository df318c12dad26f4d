"""Names in Glue, and the ids of its catalogs: `123456789012:parent/child`.

Glue folds the names of databases and tables to lower case, so they are folded here on their way in. The id of a
catalog is the account's alone for the one that every account has, and the names below it for the others.
"""

from __future__ import annotations

import re

from lanceway.catalogs.contract.names import alternatives, check_new
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier, check_visible

_ACCOUNT = re.compile(r"\d{12}")
# What separates names in an id, what a name may not hold in Glue, and what joins names on the wire.
_NOT_IN_CATALOGS = "./\\:$"
_LONGEST_CATALOG, _LONGEST_DATABASE = 64, 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def folded(identifier: Identifier) -> Identifier:
    """Return an identifier as Glue keeps it."""
    return Identifier(name.lower() for name in identifier)


def is_account(text: str) -> bool:
    return bool(_ACCOUNT.fullmatch(text))


def account_of(catalog_id: str) -> str | None:
    """Return the account in a catalog's id, None where the id does not name it."""
    account, _, _ = catalog_id.partition(":")
    return account if is_account(account) else None


def below(catalog_id: str, path: Identifier) -> str:
    """Return the id of a catalog below another; an empty id stands for an account whose number is not known."""
    if not path:
        return catalog_id
    separator = "" if not catalog_id else ":" if is_account(catalog_id) else "/"
    return f"{catalog_id}{separator}{'/'.join(path)}"


def name_of(catalog_id: str) -> str:
    """Return a catalog's own name: the last in its id."""
    return re.split("[:/]", catalog_id)[-1]


def may_be_catalogs(path: Identifier) -> bool:
    """Return whether every name could be a catalog's: with any other, an id would mean something else."""
    return all(len(name) <= _LONGEST_CATALOG and not _forbidden(name, _NOT_IN_CATALOGS) for name in path)


def check_new_table(table: Identifier) -> None:
    """Refuse a name that Glue, the table's folder or an identifier on the wire could not keep."""
    check_new(table, manifest=True)


def check_new_catalog(namespace: Identifier) -> None:
    name = namespace.name
    check_visible(name)
    _refuse(namespace, _forbidden(name, _NOT_IN_CATALOGS), _LONGEST_CATALOG)
    if is_account(name) or name.startswith("aws:"):
        raise InvalidInputError(f"{namespace} cannot be created: Glue keeps names like {name!r} for itself.")


def check_new_database(namespace: Identifier) -> None:
    check_visible(namespace.name)
    _refuse(namespace, _forbidden(namespace.name, "/\\$"), _LONGEST_DATABASE)


def _forbidden(name: str, characters: str) -> str | None:
    control = _CONTROL.search(name)
    return control[0] if control else next((character for character in characters if character in name), None)


def _refuse(namespace: Identifier, character: str | None, longest: int) -> None:
    name = namespace.name
    if character is not None:
        raise InvalidInputError(
            f"{list(namespace)!r} cannot be created: the name {name!r} holds {character!r}, which separates names in "
            f"Glue or in an identifier, or cannot be seen. Use {alternatives(name, character)}."
        )
    if len(name) > longest or name != name.strip():
        raise InvalidInputError(
            f"{list(namespace)!r} cannot be created: {name!r} must have at most {longest} characters, and no space at "
            "its ends."
        )
