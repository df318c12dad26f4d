"""The classes of the stock client, their public methods, and what becomes of each: sections of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from importlib import metadata
from types import SimpleNamespace
from typing import Any

from lancedb import index
from lancedb import query as q
from lancedb.catalog import AsyncCatalog, Catalog
from lancedb.db import AsyncConnection
from lancedb.job import AsyncJob, Job
from lancedb.merge import LanceMergeInsertBuilder
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.table import RemoteTable
from lancedb.table import AsyncBranches, AsyncTable, AsyncTags, Branches, Tags

from tests.clients.lancedb import connections, tables
from tests.clients.lancedb.queries import HYBRID, NOT_TRIED, PLAIN, SEVERAL, TAKE, TEXT, VECTOR, exercises
from tests.clients.lancedb.side import ASYNC, SIDES, SYNC, Exercise, Side

WORKS = "✓"
# What became of each method of a class: nothing, or the sentence of its refusal.
Outcomes = Mapping[str, str | None]
_SQL = "SQL comes over Arrow Flight, which this server does not speak: `lanceway sql`, or `lake.sql(…)`."
_LOCAL = "The asynchronous one opens the table where it is stored, and needs to reach that place."
NOTES: Mapping[tuple[str, str], str] = {
    ("Connections", "execute_query"): _SQL,
    ("Connections", "execute_query_async"): _SQL,
    ("Connections", "describe_query"): _SQL,
    (
        "Connections",
        "drop_table",
    ): "`ignore_missing` of the asynchronous one does not help: what a server answers is an "
    "`HttpError`, and the client forgives a `ValueError` alone.",
    ("Connections", "serialize"): "The text holds the token.",
    ("Tables", "to_lance"): _LOCAL,
    ("Tables", "optimize"): "`lanceway tables compact` and `lanceway tables index` do it.",
    ("Tables", "compact_files"): "The client asks no server. `lanceway tables compact` does it.",
    ("Tables", "cleanup_old_versions"): "The client asks no server. `lanceway tables clean` does it.",
    ("Tables", "close_lsm_writers"): "The client asks no server.",
    ("Tables", "prewarm_data"): "A table that is missing is an error; otherwise nothing is done.",
    ("Tables", "prewarm_index"): "An index that is missing is an error; otherwise nothing is done.",
    ("Indices", "Fm"): "pylance, which the server uses, cannot create one.",
    ("Jobs", "wait"): "A job waits for a [worker](../guide/background-jobs.md).",
}


@dataclass(frozen=True)
class Group:
    """A class of each API with its exercises, or what else has public names."""

    title: str
    classes: Mapping[str, Any]
    exercises: Mapping[str, Exercise]
    noun: str = "method"

    def methods(self, side: str) -> list[str]:
        """The public names."""
        return [name for name in dir(self.classes[side]) if not name.startswith("_")]

    def unjudged(self) -> list[str]:
        """Names that no exercise is for."""
        return sorted({name for side in SIDES for name in self.methods(side)} - set(self.exercises))

    def gone(self) -> list[str]:
        """Exercises of names that the client no longer has."""
        return sorted(set(self.exercises) - {name for side in SIDES for name in self.methods(side)})

    async def run(self, side: Side) -> Outcomes:
        outcomes: dict[str, str | None] = {}
        for name in self.methods(side.name):
            try:
                refused = await self.exercises[name](side)
            except Exception as error:
                error.add_note(f"{self.title}, {side.name}: {name}")
                raise
            outcomes[name] = None if refused is None else side.plain(refused)
        return outcomes


def _group(title: str, sync: type[Any], asynchronous: type[Any], exercises: Mapping[str, Exercise]) -> Group:
    return Group(title, {SYNC: sync, ASYNC: asynchronous}, exercises)


# The classes of configurations, without their other names.
_TYPES = SimpleNamespace(
    **{
        name: type_
        for name, type_ in vars(index).items()
        if isinstance(type_, type) and is_dataclass(type_) and type_.__name__ == name
    }
)

GROUPS = (
    _group("Connections", RemoteDBConnection, AsyncConnection, connections.CONNECTION),
    _group("Catalogs", Catalog, AsyncCatalog, connections.CATALOG),
    _group("Tables", RemoteTable, AsyncTable, tables.TABLE),
    Group("Indices", dict.fromkeys(SIDES, _TYPES), tables.INDICES, "configuration"),
    _group("Tags", Tags, AsyncTags, tables.TAGS),
    _group("Branches", Branches, AsyncBranches, tables.BRANCHES),
    _group("Merges", LanceMergeInsertBuilder, LanceMergeInsertBuilder, tables.MERGE),
    _group("Jobs", Job, AsyncJob, tables.JOB),
)


def _kind(title: str, sync: type[Any], asynchronous: type[Any]) -> Group:
    names = {name for class_ in (sync, asynchronous) for name in dir(class_)}
    chosen = {name: exercise for name, exercise in exercises(title).items() if name in names}
    return _group(title, sync, asynchronous, chosen)


QUERIES = (
    _kind(VECTOR, q.LanceVectorQueryBuilder, q.AsyncVectorQuery),
    _kind(SEVERAL, q.LanceVectorQueryBuilder, q.AsyncVectorQuery),
    _kind(TEXT, q.LanceFtsQueryBuilder, q.AsyncFTSQuery),
    _kind(HYBRID, q.LanceHybridQueryBuilder, q.AsyncHybridQuery),
    _kind(PLAIN, q.LanceEmptyQueryBuilder, q.AsyncQuery),
    _kind(TAKE, q.LanceTakeQueryBuilder, q.AsyncTakeQuery),
)


# -- the page ------------------------------------------------------------------------------------

OPENING = f"""\
# LanceDB's client, method by method

Every public method of the stock `lancedb` {metadata.version("lancedb")} for Python and every type of its indices,
connected by `lancedb.connect("db://…")` or `lancedb.connect_async("db://…")`.
A check mark says that it works, a blank that this interface has no such method, a cross that it is refused, with the
sentence. One that begins with "The client" is the client's own: it asks no server, or says the same of any.
[LanceDB clients](../guide/lancedb.md) explains how to connect.

This page is made by the tests. They call each method of a real server, and fail for one that is not judged here:
`python -m tests.clients.lancedb > docs/reference/lancedb.md`.
"""


LEGEND = (
    "A dot is a method that the interface does not have for this kind. A cross is one that is refused, a question mark "
    "one that was not tried:"
)


def section(group: Group, outcomes: Mapping[str, Outcomes]) -> str:
    """Return the section of a group, whose outcomes are by the name of the side."""
    rows = [f"| {group.noun} | {SYNC} | {ASYNC} | |", "| :--- | :---: | :---: | :--- |"]
    for name in sorted(group.exercises):
        marks = [_mark(outcomes[side], name) for side in SIDES]
        told = list(dict.fromkeys(filter(None, (outcomes[side].get(name) for side in SIDES))))
        words = " ".join(map(_cell, filter(None, [*told, NOTES.get((group.title, name))])))
        rows.append(f"| `{name}` | {marks[0]} | {marks[1]} | {words} |")
    return "\n".join([f"## {group.title}", "", *rows, ""])


def query_section(outcomes: Mapping[str, Mapping[str, Outcomes]]) -> str:
    """Return the section of queries, whose outcomes are by their kind and the name of the side."""
    lines = [
        "## Queries",
        "",
        "With each kind of query: the synchronous interface's mark, then the asynchronous one's.",
        "",
    ]
    kinds = [group.title for group in QUERIES]
    lines += [f"| method | {' | '.join(kinds)} |", f"| :--- |{' :---: |' * len(kinds)}"]
    names = sorted({name for group in QUERIES for name in group.exercises})
    for name in names:
        cells = ["".join(_mark(outcomes[kind][side], name) or "·" for side in SIDES) for kind in kinds]
        lines.append(f"| `{name}` | {' | '.join('' if cell == '··' else cell for cell in cells)} |")
    lines += ["", LEGEND, ""]
    lines += [f"- {line}" for name in names for line in _refusals(name, outcomes)]
    return "\n".join([*lines, ""])


def _refusals(name: str, outcomes: Mapping[str, Mapping[str, Outcomes]]) -> Iterator[str]:
    """Yield what a method of queries says where it is refused, with the kinds of query that it says it for."""
    told: dict[str, list[str]] = {}
    for kind, sides in outcomes.items():
        for words in dict.fromkeys(filter(None, (sides[side].get(name) for side in SIDES))):
            told.setdefault(words, []).append(kind)
    for words, kinds in told.items():
        yield f"`{name}` ({', '.join(kinds)}): {_cell(words)}"


def _mark(outcomes: Outcomes, name: str) -> str:
    if name not in outcomes:
        return ""
    words = outcomes[name]
    if words is None:
        return WORKS
    return "?" if words.startswith(NOT_TRIED) else "✗"


def _cell(text: str) -> str:
    text = text.replace("|", r"\|").replace("<", r"\<")
    return text if text.endswith((".", "!", "?")) else f"{text}."
