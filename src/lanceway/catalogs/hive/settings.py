"""The settings of a Hive catalog, and the check that they fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from lanceway.catalogs.hive.names import absolute
from lanceway.config import Setting
from lanceway.errors import InvalidInputError

CATALOGS, DATABASES = "catalogs", "databases"
_PORT = 9083
_REFUSED = "Refused: a metastore that asks for Kerberos (SASL) is not supported."

SETTINGS = (
    Setting(
        "uri",
        "The metastore's address, or several with commas between them, which are tried in their order.",
        default=f"thrift://localhost:{_PORT}",
    ),
    Setting("ugi", "The user and the groups to send to the metastore: user:group1,group2."),
    Setting(
        "hierarchy",
        "What the first name of an identifier is: a catalog of the metastore, or a database. The metastore is asked if "
        "it is not set: one of version 3 or later has catalogs.",
        choices=(CATALOGS, DATABASES),
    ),
    Setting(
        "catalog",
        "The catalog whose databases are the first names, with hierarchy databases. The metastore's own default if it "
        "is not set.",
    ),
    Setting(
        "root",
        "The folder or URI below which new databases and tables are put. Without it, a database is where the "
        "metastore puts it, and a table below its database.",
    ),
    Setting("pool_size", "How many connections are open at most.", int, default=3, aliases=("client.pool-size",)),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("read_timeout", "How many seconds an answer may take, to its last byte.", float, default=60.0),
    Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting("hive.metastore.sasl.enabled", _REFUSED, bool, default=False),
    Setting("hive.metastore.kerberos.*", _REFUSED),
    Setting("kerberos.*", _REFUSED),
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


class HiveServer(NamedTuple):
    """Where one metastore listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"thrift://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HiveSettings:
    """The settings of one Hive catalog, as `SETTINGS` describes them."""

    servers: tuple[HiveServer, ...]
    user: str | None
    groups: tuple[str, ...]
    hierarchy: str | None
    catalog: str | None
    root: str | None  # a URI
    pool_size: int
    connect_timeout: float
    read_timeout: float
    max_retries: int
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError for one that cannot be used; the metastore is not asked."""
        _refuse_kerberos(owner, settings)
        _check_numbers(owner, settings)
        if settings["catalog"] and settings["hierarchy"] != DATABASES:
            raise InvalidInputError(
                f'{owner}: catalog is {settings["catalog"]!r}, which needs hierarchy = "{DATABASES}". Without it, '
                "catalogs are the first names of identifiers."
            )
        user, _, groups = (settings["ugi"] or "").partition(":")
        return cls(
            servers=tuple(_servers(owner, settings["uri"])),
            user=user or None,
            groups=tuple(filter(None, groups.split(","))),
            hierarchy=settings["hierarchy"],
            catalog=settings["catalog"].lower() if settings["catalog"] else None,
            root=absolute(settings["root"]) if settings["root"] else None,
            pool_size=settings["pool_size"],
            connect_timeout=settings["connect_timeout"],
            read_timeout=settings["read_timeout"],
            max_retries=settings["max_retries"],
            storage=settings["storage"],
        )


def _refuse_kerberos(owner: str, settings: Mapping[str, Any]) -> None:
    if settings["hive.metastore.sasl.enabled"] or settings["hive.metastore.kerberos"] or settings["kerberos"]:
        raise InvalidInputError(
            f"{owner} cannot speak to a metastore that asks for Kerberos (SASL). Leave out the settings for it, and "
            "connect to a metastore inside a trusted network, or to a Lanceway server beside one."
        )


def _check_numbers(owner: str, settings: Mapping[str, Any]) -> None:
    for name in ("connect_timeout", "read_timeout"):
        if not 0 < settings[name] < float("inf"):
            raise InvalidInputError(f"{owner}: {name} is {settings[name]}, but must be seconds above 0.")
    for name, least in (("max_retries", 0), ("pool_size", 1)):
        if settings[name] < least:
            raise InvalidInputError(f"{owner}: {name} is {settings[name]}, but must be {least} or more.")


def _servers(owner: str, uri: str) -> Iterator[HiveServer]:
    for address in uri.split(","):
        try:
            parts = urlsplit(address.strip())
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme != "thrift" or parts.username is not None or parts.path.strip("/"):
            raise InvalidInputError(
                f"{owner}: uri must name a metastore by Thrift over TCP, such as thrift://localhost:{_PORT}, without a "
                "user and without a path."
            )
        yield HiveServer(host, port or _PORT)
