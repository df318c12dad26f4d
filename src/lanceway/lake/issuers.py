"""Issuers that have vouched for users of the lake, each by an alias: their users are called `name@alias`.

An alias stands for one issuer for good. If another one could take it over, its users would be taken for those of the
first, with all that is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from sqlalchemy import Connection

from lanceway.errors import InvalidInputError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import settings as setting_rows
from lanceway.lake.tree import settings
from lanceway.lake.tree.names import checked_text

MARK = "@"
_KEY = "issuer:"
_LONGEST_ALIAS = 100  # characters, so that names of users fit before it
_ALIAS = re.compile(rf"[a-z0-9](?:[a-z0-9._-]{{0,{_LONGEST_ALIAS - 2}}}[a-z0-9])?", re.ASCII)
_INSERT = Insert(setting_rows)


def checked_alias(alias: str) -> str:
    """Return an alias. Raises InvalidInputError for one that names could not end with."""
    if not _ALIAS.fullmatch(alias):
        raise InvalidInputError(
            f"oidc_alias is {alias!r}, but must be lower-case letters, digits, dots, hyphens and underscores, at most "
            f"{_LONGEST_ALIAS}, with a letter or digit at both ends: users are called name{MARK}alias."
        )
    return alias


def default_alias(issuer: str) -> str:
    """Return the alias of an issuer for which none is set: its host. Raises InvalidInputError if that cannot be one."""
    try:
        host = urlsplit(issuer).hostname or issuer
    except ValueError:
        host = issuer
    if not _ALIAS.fullmatch(host):
        raise InvalidInputError(
            f"The issuer {issuer!r} has no host that its users could be called after. Set oidc_alias: a short name "
            f"for it, such as acme, so that its users are called name{MARK}acme."
        )
    return host


def split_name(name: str) -> tuple[str, str | None]:
    """Return a user's own name, and the alias of the issuer that the whole name ends with, if it names one."""
    own, mark, alias = name.rpartition(MARK)
    return (own, alias) if mark else (name, None)


def known(connection: Connection) -> Mapping[str, str]:
    """Return the issuers by their aliases, in order."""
    stored = sorted(settings.load(connection).items())
    return {key.removeprefix(_KEY): value for key, value in stored if key.startswith(_KEY)}


def register(connection: Connection, alias: str, issuer: str) -> None:
    """Record which issuer an alias stands for. Raises InvalidInputError if it stands for another one."""
    if known(connection).get(alias) is None:
        _INSERT(connection, {"key": f"{_KEY}{alias}", "value": checked_text("The issuer", issuer)})
    stands_for = known(connection)[alias]
    if stands_for != issuer:
        raise InvalidInputError(
            f"The alias {alias!r} stands for the issuer {stands_for} in this lake, and oidc_issuer is {issuer}: its "
            f"users would be taken for those of the other. Set oidc_alias to a new alias. If it is the same issuer at "
            f"another address: lanceway users issuer {alias} {issuer}"
        )


def move(connection: Connection, alias: str, issuer: str) -> None:
    """Let an alias stand for an issuer that has another address now. Raises InvalidInputError for an unknown alias."""
    if alias not in known(connection):
        raise InvalidInputError(
            f"No issuer has the alias {alias!r} here. {shown(known(connection))} A server records its issuer when it "
            "starts with oidc_issuer."
        )
    settings.store(connection, {f"{_KEY}{alias}": str(checked_text("The issuer", issuer))})


def shown(issuers: Mapping[str, str]) -> str:
    """Return a sentence with the aliases there are."""
    return f"Aliases that are known: {', '.join(issuers)}." if issuers else "No alias is known."
