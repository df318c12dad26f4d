"""The arguments and options that commands share, and the session that they open."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

Namespace = Annotated[
    str,
    typer.Argument(
        metavar="[NAMESPACE]",
        help="A namespace, such as team.sales; the root if left out.",
        show_default=False,
    ),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table, such as team.sales.orders.")]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Parquet, Arrow, Feather, CSV, TSV, JSON or NDJSON files (also .gz), globs, or - for standard input.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Read the files as parquet, arrow, csv, tsv, json or ndjson, whatever their names."),
]
Branch = Annotated[str | None, typer.Option("--branch", help="The branch to work on, instead of main.")]
Version = Annotated[int | None, typer.Option("--version", min=0, help="The version to read, instead of the latest.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Show one page of at most this many.")]
PageToken = Annotated[str | None, typer.Option("--page-token", help="Begin after the page that ended with this token.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="KEY=VALUE", help="A property to keep with it; may be repeated."),
]
IndexedColumn = Annotated[str, typer.Argument(metavar="COLUMN", help="The column to index.")]
IndexType = Annotated[
    str,
    typer.Option(
        "--type",
        help="Vectors: IVF_FLAT, IVF_PQ, IVF_HNSW_SQ and others; values: BTREE, BITMAP, LABEL_LIST; text: FTS.",
    ),
]
IndexName = Annotated[
    str | None, typer.Option("--name", help="The index's name; chosen from the column's if left out.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


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
            f"{text!r} is no vector; write numbers separated by commas, such as 0.1,0.2,0.3.",
            param_hint=f"'{option}'",
        ) from None


def agreed(question: str, yes: bool) -> None:
    """Ask before something is deleted for good. Without a terminal to ask at, require `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask at; give --yes to go on.", param_hint="'--yes'")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


# Lists that are shown whole are asked for in pages of this size.
_PAGE = 1000
# list_all_tables joins names as the Lance REST wire does, whatever delimiter is shown here.
_WIRE_DELIMITER = "$"


@dataclass(frozen=True)
class Session:
    """The global options of one run."""

    name: str | None = None
    config: Path | None = None
    type: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    delimiter: str = DEFAULT_DELIMITER
    json: bool = False

    def for_programs(self) -> Session:
        return replace(self, json=True)

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

        type_, name = self._chosen()
        catalog = connect(type_, name=name, config=self.config, settings=self.settings)
        streaming = catalog if hasattr(catalog, "query_table_stream") else Wrapper(catalog)
        return cast("Catalog", streaming)

    @property
    def root(self) -> tuple[str, Mapping[str, str]]:
        """Return the type and settings of the chosen catalog, for another process to open it."""
        from lanceway import config

        config.quiet_lance()
        type_, name = self._chosen()
        if type_ is not None:
            return type_, self.settings
        namespace = config.namespace(str(name), self.config)
        at = {"at": namespace.at} if namespace.at else {}
        return namespace.type, {**namespace.settings, **at, **self.settings}

    def _chosen(self) -> tuple[str | None, str | None]:
        """Return the type, or the name in the configuration. Exactly one of them is given or can be inferred."""
        if self.type is not None:
            return self.type, None
        if self.name is not None:
            return None, self.name
        from lanceway import config

        names = sorted(config.namespaces(self.config))
        if len(names) == 1:
            return None, names[0]
        has = f"{', '.join(names)} are configured" if names else "none is configured"
        raise typer.BadParameter(
            f"which namespace? {has}. Choose one with --in NAME, or work without a configuration file: --path FOLDER.",
            param_hint="'--in'",
        )

    def ask(self, operation: str, id_: list[str] | None, **fields: object) -> Any:
        """Call one operation of the contract. The response is plain data, named as on the wire."""
        return _plain(getattr(self.catalog, operation)(self._request(operation, id_, fields)))

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

    def table_names(self, names: list[str], everywhere: bool) -> list[str]:
        """Return names as they are shown: those of a whole tree are identifiers, in this session's delimiter."""
        if not everywhere:
            return names
        return [Identifier.parse(name, _WIRE_DELIMITER).format(self.delimiter) for name in names]

    def _request(self, operation: str, id_: list[str] | None, fields: Mapping[str, object]) -> Any:
        from lanceway.catalogs.contract.hooks import REQUESTS
        from lanceway.catalogs.contract.requests import accept

        values = {key: value for key, value in fields.items() if value is not None}
        return accept(REQUESTS[operation], {"id": id_, **values} if id_ is not None else values)


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
