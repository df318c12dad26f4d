"""The server's settings: `[server]`, and `[catalogs.NAME]` for each catalog that it mounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from lanceway.config.credentials import CREDENTIALS, CredentialSettings, credentials_of
from lanceway.config.files import CATALOGS, document, lake, override, override_named, section, sections, variable
from lanceway.config.files import SERVER as SERVER_SECTION
from lanceway.config.settings import Setting, read_settings
from lanceway.errors import InvalidInputError

_STORAGE = "storage."
ALLOWED_LOCATIONS, SECRET_KEY = "LANCEWAY_ALLOWED_LOCATIONS", "LANCEWAY_SECRET_KEY"
_MEBIBYTE, _GIBIBYTE = 1 << 20, 1 << 30
_AUDIT = ("rows", "lines", "both", "off")
_LISTS = (
    "allowed_base_paths",
    "allowed_hosts",
    "allowed_locations",
    "cors_origins",
    "forwarded_headers",
    "worker_functions",
)
_POSITIVE = (
    "workers",
    "threads",
    "request_timeout",
    "max_body_bytes",
    "max_batch_bytes",
    "max_json_bytes",
    "upload_timeout",
    "min_upload_rate",
    "max_connections",
    "head_timeout",
    "send_timeout",
)

SERVER = (
    Setting("home", "The folder of the server's state.", default="~/.lanceway"),
    Setting("host", "The address to listen on.", default="127.0.0.1"),
    Setting("port", "The port to listen on; 0 takes a free one.", int, default=8400),
    Setting("workers", "How many processes serve.", int, default=1),
    Setting("threads", "How many calls to one catalog run at once, unless it says otherwise.", int, default=16),
    Setting(
        "request_timeout",
        "How many seconds a catalog has to answer, unless it says otherwise; then the answer is 17.",
        float,
        default=60.0,
    ),
    Setting("max_body_bytes", "The largest request body; of compressed Arrow, unfolded.", int, default=_GIBIBYTE),
    Setting("max_batch_bytes", "The largest batch of Arrow in one, unfolded.", int, default=_GIBIBYTE // 4),
    Setting("max_json_bytes", "The largest body of JSON.", int, default=_MEBIBYTE),
    Setting("upload_timeout", "Over how many seconds a client must keep up min_upload_rate.", float, default=60.0),
    Setting("min_upload_rate", "How many bytes of a body a client must send each second.", int, default=1024),
    Setting(
        "max_connections",
        "How many connections each process has; beyond it, the one idle for longest is closed.",
        int,
        default=1000,
    ),
    Setting("head_timeout", "How many seconds the head of a request may take.", float, default=10.0),
    Setting(
        "send_timeout",
        "How many seconds a client may leave an answer unread before it is cut off.",
        float,
        default=60.0,
    ),
    Setting(
        "database",
        "The lake's database: sqlite:///lake.db or postgresql://user@host/database. LANCEWAY_DATABASE sets it too; "
        "lake.db in the home if neither does.",
        secret=True,  # it may hold a password
    ),
    Setting(
        "warehouse",
        "Where the tables of new catalogs are stored: a URI or a path. LANCEWAY_WAREHOUSE sets it too; the folder "
        "warehouse in the home if neither does.",
    ),
    Setting(
        "allowed_locations",
        "Below which locations those who ask may have tables, a list of URIs and paths; an admin may have them "
        "anywhere. LANCEWAY_ALLOWED_LOCATIONS sets it too; the warehouse alone if neither does.",
        default="",
    ),
    Setting(
        "allowed_base_paths",
        "Below which locations tables may have files beside their own location, a list of URIs and paths: manifests "
        "written by clients are read with the server's keys. None by default.",
        default="",
    ),
    Setting(
        "secret_key",
        "The key that encrypts secrets of catalogs in the database: 64 hexadecimal digits; several are separated by "
        "commas, and the first encrypts. LANCEWAY_SECRET_KEY sets it too; the file secret-key in the home if neither "
        "does. With PostgreSQL one of the two must.",
        default="",
        secret=True,
    ),
    Setting("anonymous", "Whether requests without credentials are served.", bool, default=False),
    Setting(
        "simple_auth",
        "Whether a request is believed that names its user as `Authorization: Basic`, whatever the password, as "
        "Gravitino's simple authentication has it. On loopback alone.",
        bool,
        default=False,
    ),
    Setting(
        "allow_public_anonymous",
        "Whether they are served even on an address that others can reach.",
        bool,
        default=False,
    ),
    Setting(
        "allowed_hosts",
        "Host names to accept, a list; * for any. Default: any; with anonymous access on loopback, local names only.",
        default="",
    ),
    Setting("tls_cert", "The certificate to serve HTTPS with, a PEM file; it needs tls_key."),
    Setting("tls_key", "The certificate's key, a PEM file."),
    Setting("root_path", "The path prefix that a proxy in front cuts off, such as /lanceway.", default=""),
    Setting("cors_origins", "Origins whose web pages may send requests, a list; none by default.", default=""),
    Setting(
        "forwarded_headers",
        "Which headers of clients catalogs and the services behind them get, a list of names; none by default.",
        default="",
    ),
    Setting("oidc_issuer", "Who issues the JWTs that are accepted; without it none are.", aliases=("oidc.issuer",)),
    Setting(
        "oidc_alias",
        "A short name for the issuer: its users are called name@alias. Without it, the issuer's host.",
        aliases=("oidc.alias",),
    ),
    Setting("oidc_audience", "The audience that JWTs must be issued for.", aliases=("oidc.audience",)),
    Setting("oidc_jwks_uri", "Where the issuer's public keys are.", aliases=("oidc.jwks_uri",)),
    Setting("oidc_leeway", "How many seconds clocks may differ.", float, default=60.0, aliases=("oidc.leeway",)),
    Setting("oidc_user_claim", "The claim that names the user.", default="sub", aliases=("oidc.user_claim",)),
    Setting("oidc_groups_claim", "The claim that lists groups.", default="groups", aliases=("oidc.groups_claim",)),
    Setting(
        "oidc_token_lifetime",
        "For how many seconds a token may live that the issuer's users make here; 0: they make none.",
        int,
        default=0,
        aliases=("oidc.token_lifetime",),
    ),
    Setting(
        "oidc_client_id",
        "The issuer's public client for signing in to the console; without it, people need a token.",
        aliases=("oidc.client_id",),
    ),
    Setting(
        "oidc_authorization_uri",
        "Where the issuer signs people in: its authorization endpoint.",
        aliases=("oidc.authorization_uri",),
    ),
    Setting("oidc_token_uri", "Where codes are exchanged for tokens: its token endpoint.", aliases=("oidc.token_uri",)),
    Setting(
        "oidc_scopes", "What the console asks the issuer for, with spaces.", default="openid", aliases=("oidc.scopes",)
    ),
    Setting(
        "audit",
        "Where each change and each denial is recorded: rows (of the lake's database), lines (of audit.jsonl in the "
        "home), both or off.",
        default="rows",
    ),
    Setting("audit_retention", "How many days those rows are kept; 0: for ever.", int, default=90),
    Setting("event_retention", "How many days the feed keeps events; 0: for ever.", int, default=7),
    Setting("worker", "Whether background jobs are carried out beside the server.", bool, default=True),
    Setting("worker_functions", "Packages whose functions that worker may run, a list; none by default.", default=""),
    Setting("worker_master", "Let a Spark session with this master do its work; without it, threads do."),
    Setting(
        "worker_sql",
        "Whether it refreshes views by free SQL: all who can make a view let its Spark compute. Queries of the catalog "
        "alone are run, but run such a worker under an account that can do no harm.",
        bool,
        default=False,
    ),
    Setting("storage.*", "Options of the lake's storage, as pylance takes them: storage.region, storage.endpoint, …"),
    *CREDENTIALS,
)
CATALOG = (
    Setting("type", "A type of catalog, or a class by its import path.", required=True),
    Setting("at", "The namespace inside that becomes the root here."),
    Setting("threads", "How many calls to it run at once; as the server has it if it is not set.", int),
    Setting("deadline", "How many seconds it has to answer; as the server has it if it is not set.", float),
    *CREDENTIALS,
)
_OF_THE_MOUNT = tuple(row.name for row in CATALOG)


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """A catalog that is mounted: how it is connected to, and how much of the server it may take."""

    type: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    at: str | None = None
    threads: int = 16
    deadline: float = 60.0
    credentials: CredentialSettings | None = None

    @property
    def storage(self) -> dict[str, str]:
        """Return the options of its storage, as pylance takes them. They may hold secrets."""
        return {key.removeprefix(_STORAGE): value for key, value in self.settings.items() if key.startswith(_STORAGE)}


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server is told, complete and checked; it may be pickled."""

    home: Path
    host: str
    port: int
    workers: int
    threads: int
    request_timeout: float
    max_body_bytes: int
    max_batch_bytes: int
    max_json_bytes: int
    upload_timeout: float
    min_upload_rate: int
    max_connections: int
    head_timeout: float
    send_timeout: float
    database: str | None = field(repr=False)  # may hold a password
    warehouse: str | None
    allowed_locations: tuple[str, ...]
    allowed_base_paths: tuple[str, ...]
    storage: Mapping[str, str] = field(repr=False)  # may hold secrets
    credentials: CredentialSettings | None
    secret_key: str = field(repr=False)
    anonymous: bool
    simple_auth: bool
    allow_public_anonymous: bool
    allowed_hosts: tuple[str, ...]
    tls_cert: Path | None
    tls_key: Path | None
    root_path: str
    cors_origins: tuple[str, ...]
    forwarded_headers: tuple[str, ...]
    oidc_issuer: str | None
    oidc_alias: str | None
    oidc_audience: str | None
    oidc_jwks_uri: str | None
    oidc_leeway: float
    oidc_user_claim: str
    oidc_groups_claim: str
    oidc_token_lifetime: int
    oidc_client_id: str | None
    oidc_authorization_uri: str | None
    oidc_token_uri: str | None
    oidc_scopes: str
    audit: str
    audit_retention: int
    event_retention: int
    worker: bool
    worker_functions: tuple[str, ...]
    worker_master: str | None
    worker_sql: bool
    catalogs: Mapping[str, CatalogSettings]


def server(file: str | Path | None = None, arguments: Mapping[str, object] | None = None) -> ServerSettings:
    """Return the server's settings: of the file, then of the environment, then the arguments that are not None."""
    path, content = document(file)
    merged = _merge(section(path, content, SERVER_SECTION), arguments or {})
    values = dict(read_settings("The server", SERVER, merged))
    _check(values)
    values["home"] = Path(values["home"]).expanduser()
    for name in ("tls_cert", "tls_key"):
        values[name] = Path(values[name]) if values[name] else None
    values["root_path"] = _prefix(values["root_path"])
    for name in _LISTS:
        values[name] = tuple(part.strip() for part in values[name].split(",") if part.strip())
    values["credentials"] = credentials_of("The server", values)
    values["catalogs"] = _catalogs(path, content, values)
    return ServerSettings(**{row.name: values[row.name] for row in fields(ServerSettings)})


def _merge(entries: Mapping[str, str], arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of the file, under those of the environment, under the arguments that are not None."""
    merged = dict(entries)
    lake_settings = lake()
    for name, key in (("database", "uri"), ("warehouse", "root")):
        if key in lake_settings:
            merged[name] = lake_settings[key]
    for key, variable_name in (("allowed_locations", ALLOWED_LOCATIONS), ("secret_key", SECRET_KEY)):
        value = variable(variable_name)
        if value:
            merged[key] = value
    override(merged, SERVER_SECTION)
    return {**merged, **{name: value for name, value in arguments.items() if value is not None}}


def _check(values: Mapping[str, Any]) -> None:
    for name in _POSITIVE:
        _positive("The server", name, values[name])
    if not 0 <= values["port"] <= 65535:
        raise InvalidInputError(f"The server: port is {values['port']}, but must be between 0 and 65535.")
    for name in ("oidc_leeway", "oidc_token_lifetime", "audit_retention", "event_retention"):
        if not values[name] >= 0:
            raise InvalidInputError(f"The server: {name} is {values[name]}, but must be 0 or more.")
    if values["audit"] not in _AUDIT:
        raise InvalidInputError(f"The server: audit is {values['audit']!r}, but must be one of {', '.join(_AUDIT)}.")
    if bool(values["tls_cert"]) != bool(values["tls_key"]):
        has, lacks = ("tls_cert", "tls_key") if values["tls_cert"] else ("tls_key", "tls_cert")
        raise InvalidInputError(f"The server has {has} but no {lacks}: HTTPS needs both. Set {lacks} too.")


def _positive(owner: str, name: str, value: float) -> None:
    if not value > 0:  # so written, it refuses what is no number too
        raise InvalidInputError(f"{owner}: {name} is {value}, but must be more than 0.")


def _prefix(text: str) -> str:
    path = text.strip("/")
    return f"/{path}" if path else ""


# -- what is mounted -----------------------------------------------------------------------------


def _catalogs(
    path: Path | None, content: Mapping[str, object], server: Mapping[str, Any]
) -> dict[str, CatalogSettings]:
    entries = sections(path, content, CATALOGS, "archive")
    override_named(entries, CATALOGS)
    return {name: _catalog(name, entry, server) for name, entry in entries.items()}


def _catalog(name: str, entry: Mapping[str, str], server: Mapping[str, Any]) -> CatalogSettings:
    return _read_catalog(f"[{CATALOGS}.{name}]", entry, server["threads"], server["request_timeout"])


class CatalogDefaults(Protocol):
    """What a catalog takes of a server unless it says otherwise."""

    @property
    def threads(self) -> int: ...
    @property
    def deadline(self) -> float: ...


def read_catalog(name: str, entry: Mapping[str, str], defaults: CatalogDefaults) -> CatalogSettings:
    """Return the settings of a catalog that is mounted; those of its type are not checked here."""
    return _read_catalog(f"The catalog {name!r}", entry, defaults.threads, defaults.deadline)


def _read_catalog(owner: str, entry: Mapping[str, str], threads: int, deadline: float) -> CatalogSettings:
    settings = {key: value for key, value in entry.items() if key not in _OF_THE_MOUNT}
    values = read_settings(owner, CATALOG, {key: entry[key] for key in _OF_THE_MOUNT if key in entry})
    threads = threads if values["threads"] is None else values["threads"]
    deadline = deadline if values["deadline"] is None else values["deadline"]
    _positive(owner, "threads", threads)
    _positive(owner, "deadline", deadline)
    credentials = credentials_of(owner, values)
    return CatalogSettings(values["type"], settings, values["at"] or None, threads, deadline, credentials)
