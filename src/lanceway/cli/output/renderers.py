"""Print values and tables: short and safe in a terminal, exact in JSON, CSV and Arrow.

Verbs hand over plain data and never format. Results go to standard output; progress, questions and errors go to
standard error.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from lanceway.cli.output.reasons import parted, spoken
from lanceway.cli.output.words import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table
    from rich.tree import Tree

    from lanceway.errors import LanceNamespaceError

_LONGEST_TEXT = 60
_SHOWN_ITEMS = 4


def cell(value: object) -> str:
    """Return a value in one line for people. Long texts and vectors are shortened."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, (list, tuple)):
        return _list(value)
    if isinstance(value, Mapping):
        return shortened("{" + ", ".join(f"{key}: {cell(item)}" for key, item in value.items()) + "}")
    return shortened(printable(_text(value)))


def _list(items: list[object] | tuple[object, ...]) -> str:
    shown = ", ".join(cell(item) for item in items[:_SHOWN_ITEMS])
    more = f", … ({len(items):,})" if len(items) > _SHOWN_ITEMS else ""
    return f"[{shown}{more}]"


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def printable(text: str) -> str:
    """Spell control characters out: data must not be able to control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def size(count: float) -> str:
    """Format a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def moment(milliseconds: int) -> str:
    """Format an instant, given in milliseconds since 1970, in UTC."""
    return f"{datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds):%Y-%m-%d %H:%M:%S}Z"


def rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Return a batch's rows as dictionaries."""
    names = batch.schema.names
    columns = [_without_nanoseconds(column).to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _without_nanoseconds(column: pa.Array) -> pa.Array:
    # Python's own times end at microseconds; as text nothing of a nanosecond is lost.
    import pyarrow as pa

    type_ = column.type
    nanoseconds = (pa.types.is_timestamp(type_) or pa.types.is_time64(type_)) and type_.unit == "ns"
    return column.cast(pa.string()) if nanoseconds else column


def to_json(value: object) -> str:
    """Return one value as JSON in one line.

    Bytes are base64, times ISO 8601, decimals strings. NaN and infinity are null.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_jsonable)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_jsonable)


def _jsonable(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return _text(value)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


Record = Mapping[str, Any]
Columns = Mapping[str, str]  # headings by the keys of records
Item = TypeVar("Item")

# Where no terminal sets a width, nothing is wrapped or cut.
_UNBOUNDED = 10_000
# A long list is drawn in tables of this many rows, so that it is never in memory as a whole.
_DRAWN_AT_ONCE = 1000

# Numbers of the contract that people read better with a unit.
_UNITS: Mapping[str, Callable[[Any], str]] = {
    "createAt": lambda seconds: moment(seconds * 1000),
    # An index says it in words of its own.
    **dict.fromkeys(
        ("began_at", "created_at", "disabled_at", "ended_at", "expires_at", "last_used_at", "revoked_at"),
        lambda time: moment(time) if isinstance(time, int) else time,
    ),
    "manifest_size": size,
    "size_bytes": size,
    "timestamp_millis": moment,
    "total_bytes": size,
}
_LABELS = {"timestamp_millis": "time", "manifest_size": "manifest", "total_bytes": "size"}


class Output:
    """Shows the results of verbs to programs: one JSON document on standard output, or an error on standard error."""

    def names(self, names: Iterable[str]) -> None:
        """Show a list of names, printed as they arrive."""
        _array(names)

    def page(self, key: str, names: Sequence[str], token: str | None) -> None:
        """Show one page of a list of names, and the token of the next."""
        _line({key: names, "page_token": token})

    def records(self, columns: Columns, records: Iterable[Record], spare: Sequence[str] = ()) -> None:
        """Show records of one kind. People see the named columns under their headings, programs everything.

        `spare` has the columns that a narrow terminal may do without, the first of them first.
        """
        _array(records)

    def records_page(
        self, columns: Columns, key: str, records: Sequence[Record], token: str | None, spare: Sequence[str] = ()
    ) -> None:
        """Show one page of records, and the token of the next."""
        _line({key: records, "page_token": token})

    def record(self, record: Record) -> None:
        """Show one thing with its properties."""
        _line(record)

    # Records with a form of their own for people; to programs they are records like others.
    tree = schema = health = scan = lake = inspection = token = record

    def findings(self, findings: Sequence[Record]) -> None:
        """Show the findings of a check: each with a kind, where it is, a message, and whether it is wrong."""
        _array(findings)

    def rows(self, reader: pa.RecordBatchReader, limited_to: int | None) -> None:
        """Show the rows of a query. `limited_to` is how many were taken where no one said how many, if there is one."""
        _array(row for batch in reader for row in rows(batch))

    def text(self, key: str, text: str) -> None:
        """Show a text that is the whole result, such as a plan."""
        _line({key: text})

    def done(self, sentence: str, facts: Record) -> None:
        """Show that something has been changed."""
        _line(facts)

    def error(self, error: LanceNamespaceError, asked: Sequence[str] = (), hint: str = "") -> None:
        """Show why the verb was refused or failed: `asked` has the names of what it is about, `hint` what was meant."""
        reason, request = parted(spoken(str(error), asked))
        print(to_json({"error": f"{reason}{hint}{request}", "code": int(error.code)}), file=sys.stderr)  # noqa: T201

    def interrupted(self) -> None:
        print("\nlanceway: interrupted", file=sys.stderr)  # noqa: T201

    def flush(self) -> None:
        sys.stdout.flush()


class TextOutput(Output):
    """Shows the results of verbs to people: Rich tables and trees; an error is one line on standard error."""

    def __init__(self) -> None:
        self._console = _console()

    def names(self, names: Iterable[str]) -> None:
        for name in names:
            self._print(printable(name))

    def page(self, key: str, names: Sequence[str], token: str | None) -> None:
        self.names(names)
        self._more(token)

    def records(self, columns: Columns, records: Iterable[Record], spare: Sequence[str] = ()) -> None:
        self._tables(columns, map(_with_units, records), "–", spare)

    def records_page(
        self, columns: Columns, key: str, records: Sequence[Record], token: str | None, spare: Sequence[str] = ()
    ) -> None:
        self.records(columns, records, spare)
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

    def tree(self, record: Record) -> None:
        """Draw a namespace with its `namespaces`, which are records like it, and the names of its `tables`."""
        from rich.tree import Tree

        root = Tree(_safe(record["name"] or "(root)"))
        _grow(root, record)
        self._console.print(root)

    def schema(self, record: Record) -> None:
        """List a table's columns, as the contract describes them."""
        headings = {"name": "column", "type": "type", "nullable": "nullable"}
        self.records(headings, [{**field, "type": _type(field["type"])} for field in record["fields"]])

    def rows(self, reader: pa.RecordBatchReader, limited_to: int | None) -> None:
        headings = {name: name for name in reader.schema.names}
        count = self._tables(headings, (row for batch in reader for row in rows(batch)), "null")
        if limited_to is not None and count >= limited_to:
            self._note(f"The first {counted(count, 'row')}; --limit N shows more, --output FILE writes all.")
        elif count:
            self._note(counted(count, "row"))

    def text(self, key: str, text: str) -> None:
        self._print(text)

    def done(self, sentence: str, facts: Record) -> None:
        self._print(printable(sentence))

    def health(self, record: Record) -> None:
        """Show what `lanceway doctor` found."""
        self._section(
            "Packages",
            {"name": "package", "version": "version", "needed": "needed", "fix": "to get it"},
            record["packages"],
        )
        self._print(f"\nConfiguration: {record['configuration'] or 'no lanceway.toml found'}")
        for problem in record["problems"]:
            self._print(printable(problem))
        self._section(
            "Namespaces",
            {"name": "namespace", "type": "type", "state": "state", "reason": "reason"},
            record["namespaces"],
        )
        self._print("\nHealthy." if record["healthy"] else "\nSomething that Lanceway needs is broken; see above.")

    def findings(self, findings: Sequence[Record]) -> None:
        for finding in findings:
            mark = "error" if finding["wrong"] else "warning"
            parts = dict.fromkeys((finding["where"], mark, finding["kind"], finding["message"]))
            self._print(printable(": ".join(parts)))
        wrong = sum(finding["wrong"] for finding in findings)
        totals = f"{counted(wrong, 'error')}, {counted(len(findings) - wrong, 'warning')}."
        self._note(totals if findings else "No problems found.")

    def scan(self, record: Record) -> None:
        """Show the namespaces whose names hold a separator, and the separators that no name holds."""
        self.names(f"{names} holds {record['separator']}" for names in record["conflicts"])
        free = " ".join(record["alternatives"])
        self._note(f"{len(record['conflicts']):,} in the way. Separators that no name holds: {free or 'none'}")

    def lake(self, record: Record) -> None:
        """Show what a lake's database holds."""
        catalogs = {f"catalog {name}": _sentence(facts) for name, facts in record["catalogs"].items()}
        self.record({**{key: value for key, value in record.items() if key != "catalogs"}, **catalogs})

    def inspection(self, record: Record) -> None:
        """Show what `lanceway check` found of a server."""
        outcomes = {"passed": "passed", "failed": "failed", "unsupported": "not supported"}
        self.records({"group": "behaviour", **outcomes}, record["groups"])
        for outcome, heading in (("failed", "Failed"), ("unsupported", "Not supported")):
            results = [result for result in record["results"] if result["outcome"] == outcome]
            self._section(heading, {"sentence": "test", "reason": "what happened"}, results)
        self._section("Not looked at", {"tests": "tests", "reason": "why"}, record["left_out"])
        for name in record["left_behind"]:
            self._print(printable(f"left behind: {name}"))
        counts = ", ".join(f"{record['totals'][outcome]:,} {word}" for outcome, word in outcomes.items())
        self._note(f"{record['server']}: {counts} in {record['seconds']:,.0f} s.")

    def token(self, record: Record) -> None:
        """Show a new token, which is never shown again."""
        self._print(record["token"])
        until = f"expires {moment(record['expires_at'])}" if "expires_at" in record else "never expires"
        note = f"Token for {record['user']} ({until}). It will not be shown again: keep it where only you can read."
        print(printable(note), file=sys.stderr)  # noqa: T201

    def error(self, error: LanceNamespaceError, asked: Sequence[str] = (), hint: str = "") -> None:
        from rich.console import Console
        from rich.text import Text

        name = type(error).__name__.removesuffix("Error")
        problems = [printable(spoken(str(problem), asked)) for problem in getattr(error, "problems", ())]
        several = len(problems) > 1
        reason, request = parted(printable(spoken(str(error), asked)))
        reason = counted(len(problems), "problem") + ":" if several else reason
        code = Text(f" (code {int(error.code)}, {name}{request.replace(' (', ', ', 1) or ')'}", style="dim")
        console = Console(stderr=True, highlight=False, emoji=False, color_system=_colours())
        message = Text(f" {reason}{printable(hint)}")
        console.print(Text("lanceway:", style="bold red") + message + code, soft_wrap=True)
        for line in problems if several else ():
            console.print(Text(line), soft_wrap=True)

    def _section(self, title: str, columns: Columns, records: Sequence[Record]) -> None:
        if records:
            self._print(f"\n{title}")
            self.records(columns, records)

    def _tables(self, columns: Columns, records: Iterable[Record], absent: str, spare: Sequence[str] = ()) -> int:
        """Draw the records in tables; return how many there were."""
        count = 0
        for part in _chunks(records, _DRAWN_AT_ONCE):
            count += len(part)
            self._draw(columns, part, absent, spare)
        if not count:
            self._note("Nothing found.")
        return count

    def _draw(self, columns: Columns, records: Sequence[Record], absent: str, spare: Sequence[str]) -> None:
        """Draw a table whose words fit the terminal whole, or else each record by itself, a line to each column."""
        for count in range(len(spare) + 1):
            left = {key: heading for key, heading in columns.items() if key not in spare[:count]}
            if self._fits(table := _table(left, records, absent)):
                self._console.print(table)
                return
        for record in records:
            grid = _grid()
            for key, heading in columns.items():
                grid.add_row(_safe(heading), _shown(record.get(key), absent))
            self._console.print(grid)
            self._print("")

    def _fits(self, table: Table) -> bool:
        unbounded = self._console.options.update(width=_UNBOUNDED)
        return self._console.measure(table, options=unbounded).minimum <= self._console.width

    def _more(self, token: str | None) -> None:
        if token:
            self._note(f"More follow: --page-token {token}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True, style="dim")


def _array(items: Iterable[object]) -> None:
    """Write a JSON array as its items arrive, one to a line."""
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
            """Pass the error on: `command.py` ends every verb whose reader has gone in the same way."""
            raise

    width = None if sys.stdout.isatty() else _UNBOUNDED
    return Terminal(width=width, highlight=False, emoji=False, color_system=_colours())


def _colours() -> Literal["auto"] | None:
    """Return which colours and styles a console has: with `NO_COLOR` none, where Rich alone would keep bold text."""
    from lanceway.config.files import shows_colours

    return "auto" if shows_colours() else None


def _table(columns: Columns, records: Sequence[Record], absent: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    cells = {key: [_shown(record.get(key), absent) for record in records] for key in columns}
    for key, heading in columns.items():
        numeric = all(type(record.get(key)) in (int, float, NoneType) for record in records)
        # A column that cannot be broken between words is never narrowed.
        whole = not any(" " in text.plain for text in (*cells[key], _safe(heading)))
        table.add_column(_safe(heading), justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _shown(value: object, absent: str) -> Any:
    return _safe(absent if value is None else cell(value))


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
    """Return text that Rich shows as it is, without markup and escape sequences."""
    from rich.text import Text

    return Text(printable(text))


def _value(key: str, value: Any) -> Any:
    """Return a property's value in full, with one line for each entry of a dictionary."""
    from rich.text import Text

    if key in _UNITS and value is not None:
        return Text(_UNITS[key](value))
    if isinstance(value, Mapping):
        return Text("\n".join(printable(f"{key} = {cell(item)}") for key, item in value.items()) or "–")
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return _safe(value if isinstance(value, str) else cell(value))


def _type(type_: Record) -> str:
    """Return an Arrow type in one word: `fixed_size_list<float>[128]`."""
    inner = ", ".join(f"{field['name']}: {_type(field['type'])}" for field in type_.get("fields", ()))
    length = f"[{type_['length']}]" if "length" in type_ else ""
    return f"{type_['type']}{f'<{inner}>' if inner else ''}{length}"
