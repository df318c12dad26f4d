"""All that is printed: tables and trees for people, one JSON document for programs.

Verbs hand over plain data and never format. Results go to standard output; progress, questions
and errors go to standard error.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from lanceway.cli.output.values import cell, moment, printable, rows, size, to_json

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table
    from rich.tree import Tree

    from lanceway.errors import LanceNamespaceError

Record = Mapping[str, Any]
Item = TypeVar("Item")

# Where nobody's terminal sets a width, nothing is wrapped or cut.
_UNBOUNDED = 10_000
# A long answer is drawn in tables of this many rows, so that it is never held whole.
_DRAWN_AT_ONCE = 1000

# Numbers of the contract that people read better with a unit.
_UNITS: Mapping[str, Callable[[Any], str]] = {
    "createAt": lambda seconds: moment(seconds * 1000),
    # An index says it in words of its own.
    **dict.fromkeys(
        ("created_at", "expires_at", "last_used_at", "revoked_at"),
        lambda time: moment(time) if isinstance(time, int) else time,
    ),
    "manifest_size": size,
    "size_bytes": size,
    "timestamp_millis": moment,
    "total_bytes": size,
}
_LABELS = {"timestamp_millis": "time", "manifest_size": "manifest", "total_bytes": "size"}


class Output(ABC):
    """What a verb may show. `People` and `Programs` show it each in their own way."""

    @abstractmethod
    def names(self, names: Iterable[str]) -> None:
        """A list of names, printed as they arrive."""

    @abstractmethod
    def page(self, key: str, names: Sequence[str], token: str | None) -> None:
        """One page of a list, and the token of the next."""

    @abstractmethod
    def records(self, columns: Mapping[str, str], records: Iterable[Record]) -> None:
        """Things of one kind. People see the named columns under their headings, programs everything."""

    @abstractmethod
    def records_page(self, columns: Mapping[str, str], key: str, records: Sequence[Record], token: str | None) -> None:
        """One page of such things, and the token of the next."""

    @abstractmethod
    def record(self, record: Record) -> None:
        """One thing with its properties."""

    @abstractmethod
    def tree(self, node: Record) -> None:
        """A namespace with its `namespaces`, which are nodes too, and the names of its `tables`."""

    @abstractmethod
    def schema(self, schema: Record) -> None:
        """A table's columns, as the contract describes them."""

    @abstractmethod
    def rows(self, reader: pa.RecordBatchReader, limited_to: int | None) -> None:
        """The rows of an answer. `limited_to` is the number of rows that was chosen for the reader, if any."""

    @abstractmethod
    def text(self, key: str, text: str) -> None:
        """A text that is the whole answer, such as a plan."""

    @abstractmethod
    def done(self, sentence: str, facts: Record) -> None:
        """Something has been changed."""

    @abstractmethod
    def health(self, report: Record) -> None:
        """What `lanceway doctor` found."""

    @abstractmethod
    def findings(self, findings: Sequence[Record]) -> None:
        """What `lanceway lake check` found: each with a kind, where it is, a message, and whether it is wrong."""

    @abstractmethod
    def scan(self, report: Record) -> None:
        """Namespaces whose names hold a separator, and separators that no name holds."""

    @abstractmethod
    def lake(self, report: Record) -> None:
        """What a lake's database holds."""

    @abstractmethod
    def inspection(self, report: Record) -> None:
        """What `lanceway check` found of a server."""

    @abstractmethod
    def token(self, record: Record) -> None:
        """A new token, which is never shown again."""

    @abstractmethod
    def error(self, error: LanceNamespaceError) -> None:
        """Why the verb was refused or failed."""

    def interrupted(self) -> None:
        print("\nlanceway: interrupted", file=sys.stderr)  # noqa: T201

    def flush(self) -> None:
        sys.stdout.flush()


class JsonOutput(Output):
    """One JSON document on standard output; an error is one on standard error."""

    def names(self, names: Iterable[str]) -> None:
        _array(names)

    def page(self, key: str, names: Sequence[str], token: str | None) -> None:
        _line({key: names, "page_token": token})

    def records(self, columns: Mapping[str, str], records: Iterable[Record]) -> None:
        _array(records)

    def records_page(self, columns: Mapping[str, str], key: str, records: Sequence[Record], token: str | None) -> None:
        _line({key: records, "page_token": token})

    def record(self, record: Record) -> None:
        _line(record)

    def tree(self, node: Record) -> None:
        _line(node)

    def schema(self, schema: Record) -> None:
        _line(schema)

    def rows(self, reader: pa.RecordBatchReader, limited_to: int | None) -> None:
        _array(row for batch in reader for row in rows(batch))

    def text(self, key: str, text: str) -> None:
        _line({key: text})

    def done(self, sentence: str, facts: Record) -> None:
        _line(facts)

    def health(self, report: Record) -> None:
        _line(report)

    def findings(self, findings: Sequence[Record]) -> None:
        _array(findings)

    def scan(self, report: Record) -> None:
        _line(report)

    def lake(self, report: Record) -> None:
        _line(report)

    def inspection(self, report: Record) -> None:
        _line(report)

    def token(self, record: Record) -> None:
        _line(record)

    def error(self, error: LanceNamespaceError) -> None:
        print(to_json({"error": str(error), "code": int(error.code)}), file=sys.stderr)  # noqa: T201


class TextOutput(Output):
    """Rich tables and trees on standard output; an error is one line on standard error."""

    def __init__(self) -> None:
        self._console = _console()

    def names(self, names: Iterable[str]) -> None:
        for name in names:
            self._print(printable(name))

    def page(self, key: str, names: Sequence[str], token: str | None) -> None:
        self.names(names)
        self._more(token)

    def records(self, columns: Mapping[str, str], records: Iterable[Record]) -> None:
        self._tables(columns, map(_with_units, records), absent="–")

    def records_page(self, columns: Mapping[str, str], key: str, records: Sequence[Record], token: str | None) -> None:
        self.records(columns, records)
        self._more(token)

    def record(self, record: Record) -> None:
        grid = _grid()
        for key, value in record.items():
            if key != "schema":
                grid.add_row(_safe(_LABELS.get(key) or key.replace("_", " ")), _value(key, value))
        self._console.print(grid)
        if "schema" in record:
            self._print("")
            self.schema(record["schema"])

    def tree(self, node: Record) -> None:
        from rich.tree import Tree

        root = Tree(_safe(node["name"] or "(root)"))
        _grow(root, node)
        self._console.print(root)

    def schema(self, schema: Record) -> None:
        headings = {"name": "column", "type": "type", "nullable": "nullable"}
        self.records(headings, [{**field, "type": _type(field["type"])} for field in schema["fields"]])

    def rows(self, reader: pa.RecordBatchReader, limited_to: int | None) -> None:
        headings = {name: name for name in reader.schema.names}
        found = (row for batch in reader for row in rows(batch))
        count = self._tables(headings, found, absent="null")
        if limited_to is not None and count >= limited_to:
            self._note(f"The first {count:,} rows; --limit N shows more, --output FILE writes all.")
        elif count:
            self._note(f"{count:,} {'row' if count == 1 else 'rows'}")

    def text(self, key: str, text: str) -> None:
        self._print(text)

    def done(self, sentence: str, facts: Record) -> None:
        self._print(printable(sentence))

    def health(self, report: Record) -> None:
        self._section(
            "Packages",
            {"name": "package", "version": "version", "needed": "needed", "fix": "to get it"},
            report["packages"],
        )
        self._print(f"\nConfiguration: {report['configuration'] or 'no lanceway.toml found'}")
        for problem in report["problems"]:
            self._print(printable(problem))
        self._section(
            "Namespaces",
            {"name": "namespace", "type": "type", "state": "state", "reason": "reason"},
            report["namespaces"],
        )
        self._print("\nHealthy." if report["healthy"] else "\nSomething that Lanceway needs is broken; see above.")

    def findings(self, findings: Sequence[Record]) -> None:
        for finding in findings:
            mark = "wrong" if finding["wrong"] else "note"
            self._print(printable(f"{mark}: {finding['kind']}: {finding['where']}: {finding['message']}"))
        wrong = sum(finding["wrong"] for finding in findings)
        self._note(f"{wrong:,} wrong, {len(findings) - wrong:,} to note." if findings else "Nothing found.")

    def scan(self, report: Record) -> None:
        self.names(f"{names} holds {report['separator']}" for names in report["conflicts"])
        free = " ".join(report["alternatives"])
        self._note(f"{len(report['conflicts']):,} in the way. Separators that no name holds: {free or 'none'}")

    def lake(self, report: Record) -> None:
        catalogs = {f"catalog {name}": _sentence(facts) for name, facts in report["catalogs"].items()}
        self.record({**{key: value for key, value in report.items() if key != "catalogs"}, **catalogs})

    def inspection(self, report: Record) -> None:
        outcomes = {"passed": "passed", "failed": "failed", "unsupported": "not supported"}
        self.records({"group": "behaviour", **outcomes}, report["groups"])
        for outcome, heading in (("failed", "Failed"), ("unsupported", "Not supported")):
            found = [result for result in report["results"] if result["outcome"] == outcome]
            self._section(heading, {"sentence": "test", "reason": "what happened"}, found)
        self._section("Not looked at", {"tests": "tests", "reason": "why"}, report["left_out"])
        for left in report["left_behind"]:
            self._print(printable(f"left behind: {left}"))
        told = ", ".join(f"{report['totals'][outcome]:,} {word}" for outcome, word in outcomes.items())
        self._note(f"{report['server']}: {told} in {report['seconds']:,.0f} s.")

    def token(self, record: Record) -> None:
        self._print(record["token"])
        until = f"until {moment(record['expires_at'])}" if "expires_at" in record else "until it is revoked"
        note = f"This is a token of {record['user']}, {until}. It is shown this once: keep it where only you can read."
        print(printable(note), file=sys.stderr)  # noqa: T201

    def error(self, error: LanceNamespaceError) -> None:
        reason = " ".join(str(error).split())
        name = type(error).__name__.removesuffix("Error")
        print(f"lanceway: {printable(reason)} (code {int(error.code)}, {name})", file=sys.stderr)  # noqa: T201

    def _section(self, title: str, columns: Mapping[str, str], records: Sequence[Record]) -> None:
        if records:
            self._print(f"\n{title}")
            self.records(columns, records)

    def _tables(self, columns: Mapping[str, str], records: Iterable[Record], absent: str) -> int:
        """Draw the records in tables; answers how many there were."""
        count = 0
        for part in _chunks(records, _DRAWN_AT_ONCE):
            count += len(part)
            self._console.print(_table(columns, part, absent))
        if not count:
            self._note("Nothing found.")
        return count

    def _more(self, token: str | None) -> None:
        if token:
            self._note(f"More follow: --page-token {token}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True, style="dim")


def _array(items: Iterable[object]) -> None:
    """A JSON array written as its items arrive, one to a line."""
    sys.stdout.write("[")
    for number, item in enumerate(items):
        sys.stdout.write(f"{',' if number else ''}\n{to_json(item)}")
    sys.stdout.write("\n]\n")


def _line(value: object) -> None:
    sys.stdout.write(f"{to_json(value)}\n")


def _chunks(items: Iterable[Item], length: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    for first in iterator:
        yield [first, *islice(iterator, length - 1)]


def _console() -> Console:
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            """A reader that has gone is not Rich's affair: `command.py` ends every verb alike."""
            raise

    return Terminal(width=None if sys.stdout.isatty() else _UNBOUNDED, highlight=False, emoji=False)


def _table(columns: Mapping[str, str], records: Sequence[Record], absent: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for key, heading in columns.items():
        numeric = all(type(record.get(key)) in (int, float, NoneType) for record in records)
        table.add_column(_safe(heading), justify="right" if numeric else "left", overflow="fold")
    for record in records:
        values = (record.get(key) for key in columns)
        table.add_row(*(_safe(absent if value is None else cell(value)) for value in values))
    return table


def _with_units(record: Record) -> Record:
    return {key: _UNITS[key](value) if key in _UNITS else value for key, value in record.items()}


def _grid() -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    return grid


def _grow(tree: Tree, node: Record) -> None:
    for child in node["namespaces"]:
        _grow(tree.add(_safe(f"{child['name']}/")), child)
    for table in node["tables"]:
        tree.add(_safe(table))


def _sentence(catalog: Record) -> str:
    shape = "nested" if catalog["nested"] else "flat"
    return f"{shape}, {catalog['versioning']} versions, of {catalog['owner']}, under {catalog['root']}"


def _safe(text: str) -> Any:
    """Text that Rich takes as it is: no markup, no escape sequences."""
    from rich.text import Text

    return Text(printable(text))


def _value(key: str, value: Any) -> Any:
    """A property's value: whole, with one line for each entry of a dictionary."""
    from rich.text import Text

    if key in _UNITS:
        return Text(_UNITS[key](value))
    if isinstance(value, Mapping):
        return Text("\n".join(printable(f"{key} = {cell(item)}") for key, item in value.items()) or "–")
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return _safe(value if isinstance(value, str) else cell(value))


def _type(type_: Record) -> str:
    """An Arrow type in one word: `fixed_size_list<float>[128]`."""
    inner = ", ".join(f"{field['name']}: {_type(field['type'])}" for field in type_.get("fields", ()))
    length = f"[{type_['length']}]" if "length" in type_ else ""
    return f"{type_['type']}{f'<{inner}>' if inner else ''}{length}"
