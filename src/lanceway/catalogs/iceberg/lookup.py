"""Lance tables found in an Iceberg REST catalog: by name, and among all that a namespace holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.iceberg.names import check
from lanceway.catalogs.iceberg.namespaces import IcebergNamespaces
from lanceway.catalogs.iceberg.storage import options_of, public
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.wire import iceberg
from lanceway.wire.iceberg import LoadedTable

# A property of a table that tells its maker from others who asked for the same name.
CLAIM = "lanceway.claim"


class IcebergLookup(IcebergNamespaces):
    """Tables, found by their companions."""

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if namespace.is_root:
            self._configured()
            return []
        warehouse, names = self._inside(namespace)
        if not names:
            return []  # a table needs a namespace
        pages = self._pages(warehouse, "list_tables", f"Listing the tables in {namespace}", names)
        rows = {name for page in pages for inside, name in iceberg.read_tables(page) if inside == names}
        if not rows:
            self._need_namespace(namespace)  # some servers answer nothing for a namespace that is missing
        wanted = sorted(name for name in rows if after is None or name > after)
        width: int = self._settings["concurrency"]
        most = max(1, len(wanted)) if limit is None else min(4 * width, max(limit, width))
        with ThreadPoolExecutor(width) as pool:
            found = self._lance_tables(namespace, _batches(wanted, most), include_declared, pool)
            return list(islice(found, limit))

    def _lance_tables(
        self, namespace: Identifier, batches: Iterable[Sequence[str]], include_declared: bool, pool: ThreadPoolExecutor
    ) -> Iterator[str]:
        """Those of the names that are Lance tables, in order; a batch is looked at whole before the next."""

        def is_wanted(name: str) -> bool:
            table = namespace.child(name)
            try:
                loaded = self._load(table, to_read=not include_declared)
            except TableNotFoundError:  # dropped since it was listed
                return False
            return loaded.is_lance and (include_declared or not self._is_declared_only(table, self._entry(loaded)))

        for batch in batches:
            yield from (name for name, wanted in zip(batch, pool.map(is_wanted, batch), strict=True) if wanted)

    def _load(self, table: Identifier, *, to_read: bool = False) -> LoadedTable:
        """What the server knows of a table, Lance or not; with credentials `to_read` it. Raises TableNotFoundError."""
        warehouse, names = self._inside(table.parent)
        answer = self._ask_twice(
            warehouse,
            "load_table",
            f"Loading the table {table}",
            names,
            table.name,
            query=[("snapshots", "refs")],
            headers=self._delegation if to_read else {},
        )
        return iceberg.read_table(answer)

    @property
    def _delegation(self) -> Mapping[str, str]:
        """Asks for credentials, where they are wanted: some servers let fewer have a table with them."""
        return {iceberg.DELEGATION: iceberg.VENDED} if self._settings["vended_credentials"] else {}

    def _found(self, table: Identifier) -> LoadedTable:
        """A Lance table. Raises TableNotFoundError, NamespaceNotFoundError and, for another's, InvalidInputError."""
        check_table(table)
        try:
            loaded = self._load(table, to_read=True)
        except TableNotFoundError as error:
            self._need_namespace(table.parent)
            raise TableNotFoundError(f"There is no table {table}.") from error
        if not loaded.is_lance:
            raise InvalidInputError(
                f"{table} is no Lance table: its property {iceberg.TABLE_TYPE!r} is not {iceberg.LANCE!r}. Use a "
                "client for Iceberg tables."
            )
        return loaded

    def _is_there(self, table: Identifier) -> bool:
        try:
            self._load(table)
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return True

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._entry(self._found(table))

    def _entry(self, loaded: LoadedTable) -> TableEntry:
        options = options_of(loaded, self._settings["storage"], vended=self._settings["vended_credentials"])
        return replace(self._without_storage(loaded), storage_options=options)

    @staticmethod
    def _without_storage(loaded: LoadedTable) -> TableEntry:
        kept = {key: value for key, value in public(loaded.properties).items() if key != CLAIM}
        return TableEntry(loaded.location, None, kept, claim=loaded.uuid)


def check_table(table: Identifier) -> None:
    check(table)
    if table.depth < 3:
        raise InvalidInputError(
            f"{list(table)!r} is no table's identifier: it needs a warehouse, a namespace and a name, such as "
            "['warehouse', 'sales', 'orders']."
        )


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    remaining = iter(names)
    while batch := list(islice(remaining, size)):
        yield batch
