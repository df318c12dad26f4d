"""The arguments and options that commands share, and the session that they open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lanceway.cli.output.renderers import Output, TextOutput
from lanceway.identifiers import DEFAULT_DELIMITER, FullName, Identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceway.catalogs import Catalog
    from lanceway.catalogs.contract.schemas import PathNaming
    from lanceway.config import Connection, NamespaceSettings


def completed(what: str) -> Callable[[typer.Context, str], list[str]]:
    """Return the function of `lanceway.cli.completion` of this name; it is loaded when a shell asks."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from lanceway.cli import completion

        names: list[str] = getattr(completion, what)(ctx, incomplete)
        return names

    return complete


Namespace = Annotated[
    str,
    typer.Argument(
        metavar="[NAMESPACE]",
        help="A namespace, such as team.sales; the root if left out.",
        show_default=False,
        autocompletion=completed("namespaces"),
    ),
]
Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A table, such as team.sales.orders.",
        autocompletion=completed("tables"),
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Parquet, Arrow, Feather, CSV, TSV, JSON or NDJSON files (also .gz), globs, addresses such as s3://… and "
        "https://…, or - for standard input.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Read the files as parquet, arrow, csv, tsv, json or ndjson, whatever their names."),
]
Branch = Annotated[str | None, typer.Option("--branch", help="The branch to work on, instead of main.")]
Version = Annotated[int | None, typer.Option("--version", min=0, help="The version to read, instead of the latest.")]
Tag = Annotated[str | None, typer.Option("--tag", help="The tag to read, instead of the latest version.")]
# Both spellings say the same everywhere.
Where = Annotated[
    str | None, typer.Option("--where", "--filter", metavar="SQL", help="Only rows where this SQL condition holds.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Show one page of at most this many.")]
PageToken = Annotated[str | None, typer.Option("--page-token", help="Begin after the page that ended with this token.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="KEY=VALUE", help="A property to keep with it; may be repeated."),
]
IndexedColumn = Annotated[
    str, typer.Argument(metavar="COLUMN", help="The column to index.", autocompletion=completed("columns"))
]
_INDEX_TYPES = ("IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ", "BTREE", "BITMAP", "LABEL_LIST", "FTS")
IndexType = Annotated[
    str,
    typer.Option(
        "--type",
        autocompletion=lambda: list(_INDEX_TYPES),
        help="Vectors: IVF_FLAT, IVF_PQ, IVF_HNSW_SQ and others; values: BTREE, BITMAP, LABEL_LIST; text: FTS.",
    ),
]
IndexName = Annotated[
    str | None, typer.Option("--name", help="The index's name; chosen from the column's if left out.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class WrongUse(typer.BadParameter):
    """Wrong use that is not about one option."""

    def format_message(self) -> str:
        return self.message


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Return `KEY=VALUE` texts as a dictionary."""
    values: dict[str, str] = {}
    for text in texts or ():
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise typer.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint=f"'{option}'")
        values[key] = value
    return values


def words(texts: Sequence[str] | None) -> list[str]:
    """Split names that are given one by one or separated by commas."""
    return [word.strip() for text in texts or () for word in text.split(",") if word.strip()]


def numbers(text: str, option: str) -> list[float]:
    """Parse a vector: numbers separated by commas, with or without brackets."""
    try:
        return [float(word) for word in text.strip().strip("[]").split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a vector; write numbers separated by commas, such as 0.1,0.2,0.3.",
            param_hint=f"'{option}'",
        ) from None


def agreed(question: str, yes: bool) -> None:
    """Ask before something is deleted for good. Without a terminal to ask at, require `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("cannot ask for confirmation (not a terminal). Pass --yes.", param_hint="'--yes'")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


# Lists that are shown whole are asked for in pages of this size.
_PAGE = 1000
# The options that choose a catalog without a name, and their types; None for one that names it.
_TYPES: Mapping[str, str | None] = {"--type": None, "--path": "dir", "--url": "rest"}
# Settings of a server, each of which says who asks.
_CREDENTIALS = frozenset({"token", "token_file", "api_key", "credential"})
# Operations that make the folder of a catalog if it does not exist.
_CREATING = frozenset({"create_namespace", "create_table", "declare_table", "register_table"})
# list_all_tables joins names as the Lance REST wire does, whatever delimiter is shown here.
_WIRE_DELIMITER = "$"


@dataclass(frozen=True)
class Session:
    """The global options of one run."""

    choices: Mapping[str, str] = field(default_factory=dict)  # which catalog, by the option that says so
    config: Path | None = None
    given: Mapping[str, str] = field(default_factory=dict, repr=False)  # settings, which may hold secrets
    delimiter: str = DEFAULT_DELIMITER
    json: bool = False

    def narrowed(
        self,
        *,
        name: str | None = None,
        url: str | None = None,
        path: str | None = None,
        type: str | None = None,  # noqa: A002 - the option's name
        settings: Iterable[str] | None = None,
        config: Path | None = None,
        delimiter: str | None = None,
        as_json: bool = False,
    ) -> Session:
        """Return the session with more options, which may stand before a verb and after it."""
        options = {"--in": name, "--url": url, "--path": path, "--type": type}
        choices = {**self.choices, **{option: value for option, value in options.items() if value is not None}}
        if len(choices) > 1:
            raise typer.BadParameter(f"give only one of {' and '.join(choices)}.", param_hint=f"'{list(choices)[-1]}'")
        return Session(
            choices,
            config or self.config,
            {**self.given, **pairs(settings, "--set")},
            delimiter or self.delimiter,
            self.json or as_json,
        )

    @property
    def name(self) -> str | None:
        """Return the root namespace of the configuration that is chosen by its name."""
        return self.choices.get("--in")

    @property
    def type(self) -> str | None:
        """Return the type of a catalog that is chosen without a name."""
        return next((_TYPES[option] or value for option, value in self.choices.items() if option in _TYPES), None)

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings that options give. They may hold secrets."""
        path, url = self.choices.get("--path"), self.choices.get("--url")
        if url is None:
            # As in Python: a folder that is still empty gets namespaces.
            return self.given if path is None else {"layout": "auto", **self.given, "path": path}
        from lanceway.config import connections

        return _with_settings(connections.to(url, self._home).settings, self.given)

    @property
    def _home(self) -> Path:
        """Return the folder of the server that the configuration describes."""
        from lanceway import config

        return config.server(self.config).home

    @cached_property
    def output(self) -> Output:
        return Output() if self.json else TextOutput()

    def id(self, text: str | None) -> list[str]:
        """Parse an identifier of the command line into its names.

        In a nested lake its separator may join the namespaces, as in `team:sales.orders`, and the full name may be
        given: `metalake.catalog.team:sales.orders`.
        """
        names = list(Identifier.parse(text, self.delimiter))
        if not text or all(map(_is_plain, names)):
            return names
        naming = self.naming(names)
        if naming is None or not naming.nested or naming.separator not in text:
            return names
        if names[:2] == [naming.metalake, naming.catalog]:
            name = FullName.parse(text, naming.separator)
            return naming.outside([*name.namespace, *([] if name.table is None else [name.table])])
        return [part for name in names for part in Identifier.parse(name, naming.separator)]

    def naming(self, names: list[str]) -> PathNaming | None:
        """Return how names are written where an identifier leads to; None where that is not known."""
        from lanceway.catalogs.contract.schemas import StatesNaming
        from lanceway.errors import NamespaceNotFoundError

        if not isinstance(self.catalog, StatesNaming):
            return None
        for start in (names, names[1:2]):  # a full name begins with the metalake
            try:
                return self.catalog.naming(start)
            except NamespaceNotFoundError:
                continue
        return None

    def full_name(self, id_: list[str], *, table: bool) -> dict[str, str]:
        """Return the full name of an object, as a field of its description; nothing where a catalog has none."""
        naming = self.naming(id_)
        if naming is None or (table and not naming.inside(id_)):
            return {}
        inside = naming.inside(id_)
        name = naming.full_name(inside[:-1], inside[-1]) if table else naming.full_name(inside)
        return {"full_name": name}

    def format(self, id_: list[str]) -> str:
        """Return names as they are shown, in this session's delimiter."""
        return Identifier(id_).format(self.delimiter)

    def shown(self, text: str | None) -> str:
        return text or "the root namespace"

    # -- asking the catalog ----------------------------------------------------------------------

    @cached_property
    def catalog(self) -> Catalog:
        """Connect to the catalog that the options choose. One without streaming methods is wrapped to have them."""
        # The environment comes first: pylance reads it when it is imported.
        from lanceway import config

        config.quiet_lance()
        from lanceway.catalogs.connect import connect
        from lanceway.catalogs.wrappers.forward import Wrapper

        type_, name, settings = self._chosen()
        catalog = connect(type_, name=name, config=self.config, settings=settings)
        streaming = catalog if hasattr(catalog, "query_table_stream") else Wrapper(catalog)
        return cast("Catalog", streaming)

    @property
    def root(self) -> tuple[str, Mapping[str, str]]:
        """Return the type and settings of the chosen catalog, for another process to open it."""
        from lanceway import config

        config.quiet_lance()
        type_, name, settings = self._chosen()
        if type_ is not None:
            return type_, settings
        namespace = config.namespace(str(name), self.config)
        at = {"at": namespace.at} if namespace.at else {}
        return namespace.type, {**namespace.settings, **at, **settings}

    def _chosen(self) -> tuple[str | None, str | None, Mapping[str, str]]:
        """Return the type, or the name in the configuration, and settings. It is given, or can be inferred."""
        if self.type is not None or self.name is not None:
            return self.type, self.name, self.settings
        from lanceway import config
        from lanceway.config import connections

        names = sorted(config.namespaces(self.config))
        server = self._remembered
        if server is None and len(names) == 1:
            return None, names[0], self.given
        if server is None and names:
            raise WrongUse(f"Which namespace? {', '.join(names)} are configured. Choose one with --in NAME.")
        server = server or connections.of_this_machine(self._home)
        if server is not None:
            return "rest", None, _with_settings(server.settings, self.given)
        if self.given:
            raise WrongUse("--set needs a catalog that it is a setting of: add --type, --path, --url or --in.")
        raise WrongUse(
            "No namespace is chosen. Use --path FOLDER, --url URL or --in NAME, log in to a server with lanceway login "
            "URL, start one with lanceway up, or write a lanceway.toml."
        )

    @property
    def server(self) -> Mapping[str, str] | None:
        """Return the settings of a server that is chosen: by an option, the environment or a login; else None.

        A server that merely runs on this machine is not chosen.
        """
        if self.type is not None or self.name is not None:
            type_, settings = self.root
            return {key: value for key, value in settings.items() if key != "at"} if type_ == "rest" else None
        server = self._remembered
        return None if server is None else _with_settings(server.settings, self.given)

    @property
    def _remembered(self) -> Connection | None:
        """Return the server of the environment, or that of a login, which namespaces of a file here win over."""
        from lanceway import config
        from lanceway.config import connections

        server = connections.of_environment()
        if server is not None:
            return server
        saved = connections.in_use()
        is_hidden = saved is not None and not self._is_of_the_user and bool(config.namespaces(self.config))
        return None if is_hidden else saved

    @property
    def _is_of_the_user(self) -> bool:
        """Return whether the configuration is the user's own, which a saved connection wins over."""
        from lanceway import config

        file = self.config or config.config_file()
        return file is not None and file.parent == config.user_config_folder()

    @cached_property
    def only_namespace(self) -> NamespaceSettings | None:
        """Return the namespace of the configuration if it has exactly one, and no option chooses another catalog."""
        from lanceway import config

        namespaces = [] if self.choices else list(config.namespaces(self.config).values())
        return namespaces[0] if len(namespaces) == 1 else None

    def ask(self, operation: str, id_: list[str] | None, **fields: object) -> Any:
        """Call one operation of the contract. The response is plain data, named as on the wire."""
        return _plain(getattr(self.catalog, operation)(self._request(operation, id_, fields)))

    def at(self, id_: list[str], version: int | None, tag: str | None, branch: str | None) -> dict[str, Any]:
        """Return which version of a table is read, as the fields of a request. A tag is looked up."""
        if tag is None:
            return {"version": version, "branch": branch}
        if version is not None or branch is not None:
            raise typer.BadParameter("a tag names one version of one branch. Give it alone.", param_hint="'--tag'")
        named = self.ask("get_table_tag_version", id_, tag=tag)
        return {"version": named["version"], "branch": named.get("branch")}

    def send(self, operation: str, id_: list[str], data: pa.RecordBatchReader, **fields: object) -> Any:
        """Call an operation that takes rows, streaming them."""
        return _plain(getattr(self.catalog, f"{operation}_stream")(self._request(operation, id_, fields), data))

    def query(self, id_: list[str], **fields: object) -> pa.RecordBatchReader:
        """Return the rows that a query finds, one batch at a time."""
        return self.catalog.query_table_stream(self._request("query_table", id_, fields))

    def page(self, operation: str, id_: list[str], limit: int | None, token: str | None, **fields: object) -> Any:
        return self.ask(operation, id_, limit=limit, page_token=token, **fields)

    def pages(self, operation: str, id_: list[str], **fields: object) -> Iterator[Any]:
        """Yield every page of a list, each requested when the one before has been read."""
        token: str | None = None
        while True:
            response = self.page(operation, id_, _PAGE, token, **fields)
            yield response
            token = response.get("page_token")
            if not token:
                return

    def _require_folder(self) -> None:
        """Refuse a folder that does not exist, for what would not create it: its name is mistyped."""
        path = self.choices.get("--path")
        if path is not None and "://" not in path and not Path(path).expanduser().exists():
            raise typer.BadParameter(f"there is no folder {path!r}.", param_hint="'--path'")

    def table_names(self, names: list[str], everywhere: bool) -> list[str]:
        """Return names as they are shown: those of a whole tree are identifiers, in this session's delimiter."""
        if not everywhere:
            return names
        return [Identifier.parse(name, _WIRE_DELIMITER).format(self.delimiter) for name in names]

    def _request(self, operation: str, id_: list[str] | None, fields: Mapping[str, object]) -> Any:
        from lanceway.catalogs.contract.hooks import REQUESTS
        from lanceway.catalogs.contract.requests import accept

        if operation not in _CREATING:
            self._require_folder()
        values = {key: value for key, value in fields.items() if value is not None}
        return accept(REQUESTS[operation], {"id": id_, **values} if id_ is not None else values)


def _with_settings(server: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a server under those that are given, whose credentials take the place of all others."""
    kept = {key: value for key, value in server.items() if _CREDENTIALS.isdisjoint(given) or key not in _CREDENTIALS}
    return {**kept, **given}


def _is_plain(name: str) -> bool:
    """Return whether a name holds no character that could be a separator."""
    return name.replace("-", "").replace("_", "").isalnum()


def _plain(answer: Any) -> Any:
    """Return a response as dictionaries, lists and scalars, without credentials among its storage options."""
    from pydantic import BaseModel

    from lanceway.config import redacted

    if not isinstance(answer, BaseModel):
        return answer
    # A server's context holds the headers of its answer, which say nothing of what was asked.
    data = answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"context"})
    if "storage_options" in data:
        data["storage_options"] = redacted((), data["storage_options"])
    return data
