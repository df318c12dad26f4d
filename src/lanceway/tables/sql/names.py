"""Names of tables in a query, of any depth: DuckDB's own are at most a catalog, a schema and a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lanceway.identifiers import Identifier

# A table as DuckDB knows it: its schema, empty for a name of one part, and its name.
LocalName = tuple[str, str]

_NAME = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\W\d][\w$]*)')
# Schemas that DuckDB has itself, and the name of its database.
_TAKEN = {"information_schema", "main", "memory", "pg_catalog", "system", "temp"}
_STARTS = {"select", "with", "from", "values", "table", "describe", "summarize", "("}
_BEFORE_A_TABLE = {"from", "join", "table", "describe", "summarize"}
# After these a comma no longer separates tables.
_ENDS_FROM = {
    *("select", "where", "group", "having", "order", "limit", "offset", "window", "qualify", "sample"),
    *("union", "intersect", "except", "values"),
}


class Lexeme(NamedTuple):
    """A word or a sign of a query, with where it starts and ends."""

    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.lower()


class Chain(NamedTuple):
    """Names joined by dots."""

    parts: tuple[str, ...]
    start: int
    end: int


@dataclass(slots=True)
class _Level:
    """What is known of the text between two parentheses."""

    is_query: bool
    is_empty: bool = True
    selects: bool = False
    in_from: bool = False
    at_table: bool = False


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query whose names of tables have at most two parts, what they stand for, and where its text was changed."""

    text: str
    names: Mapping[LocalName, Identifier]
    _edits: Sequence[tuple[int, int, int]] = field(default=())

    def original(self, position: int) -> int:
        """Return where in the query that was given a place of this text is."""
        shift = 0
        for start, length, growth in self._edits:
            if position < start + length:
                return min(position, start) - shift
            shift += growth
        return position - shift


def local_names(query: str, tokens: Sequence[Lexeme]) -> NamedQuery:
    """Write names of tables such as `lake.team.fruit` as DuckDB takes them: `"lake.team".fruit`."""
    chains = list(_chains(tokens))
    at_tables = set(_starts_of_tables(tokens, {chain.start: chain for chain in chains}))
    names = _Names()
    for chain in chains:
        if chain.start in at_tables and len(chain.parts) > 1:
            names.add(chain.parts)
    text, edits, end = "", [], 0
    for chain in chains:
        replacement = names.replacement(chain, is_table=chain.start in at_tables)
        if replacement is None:
            continue
        text += query[end : chain.start]
        edits.append((len(text), len(replacement), len(replacement) - (chain.end - chain.start)))
        text += replacement
        end = chain.end
    return NamedQuery(text + query[end:], names.by_local_name, edits)


class _Names:
    """The tables of a query with names of several parts."""

    def __init__(self) -> None:
        self.by_local_name: dict[LocalName, Identifier] = {}
        self._schemas: dict[tuple[str, ...], str] = {}

    def add(self, parts: tuple[str, ...]) -> None:
        above = parts[:-1]
        if above not in self._schemas:
            schema = ".".join(above)
            # DuckDB does not tell upper from lower case.
            while schema.lower() in {*_TAKEN, *(other.lower() for other in self._schemas.values())}:
                schema += "'"
            self._schemas[above] = schema
        self.by_local_name[self._schemas[above], parts[-1]] = Identifier(parts)

    def replacement(self, chain: Chain, *, is_table: bool) -> str | None:
        """Return how a table, or a column behind its table's whole name, is to be written; None as it is."""
        for length in range(len(chain.parts) if is_table else len(chain.parts) - 1, 1, -1):
            schema = self._schemas.get(chain.parts[: length - 1])
            if schema is not None and (schema, chain.parts[length - 1]) in self.by_local_name:
                return ".".join(quoted(part) for part in (schema, *chain.parts[length - 1 :]))
        return None


def quoted(name: str) -> str:
    """Write a name between quotes."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _unquoted(match: re.Match[str]) -> str:
    return match["plain"] if match["plain"] is not None else match["quoted"].replace('""', '"')


def _chains(tokens: Sequence[Lexeme]) -> Iterator[Chain]:
    position = 0
    while position < len(tokens):
        first = last = position
        parts = [_part(tokens[first])]
        while parts[-1] is not None and last + 2 < len(tokens) and tokens[last + 1].text == ".":
            following = _part(tokens[last + 2])
            if following is None:
                break
            parts.append(following)
            last += 2
        names = tuple(part for part in parts if part is not None)
        if names:
            yield Chain(names, tokens[first].start, tokens[last].end)
        position = last + 1


def _part(token: Lexeme) -> str | None:
    match = _NAME.fullmatch(token.text)
    return None if match is None else _unquoted(match)


def _starts_of_tables(tokens: Sequence[Lexeme], chains: Mapping[int, Chain]) -> Iterator[int]:
    """Yield where the names of tables begin: behind FROM and JOIN, and between the commas behind them."""
    levels, end, before = [_Level(is_query=True)], 0, ""
    for token in tokens:
        level, word = levels[-1], token.word
        if token.start < end:  # inside of a name
            continue
        if level.is_empty and word in _STARTS:
            level.is_query = True
        if word == "(":
            levels.append(_Level(is_query=False, in_from=level.at_table, at_table=level.at_table))
            level.at_table = False
        elif word == ")":
            if len(levels) > 1:
                levels.pop()
        elif word == ",":
            level.at_table = level.in_from
        elif word in _BEFORE_A_TABLE and _begins_clause(level, word, before):
            level.in_from = level.at_table = True
        elif word in _ENDS_FROM:
            level.in_from = level.at_table = False
        elif word != "lateral":
            if level.at_table and token.start in chains:
                yield token.start
            level.at_table = False
        end = chains[token.start].end if token.start in chains and word not in _BEFORE_A_TABLE else token.end
        level.is_empty, before = False, word


def _begins_clause(level: _Level, word: str, before: str) -> bool:
    """Return whether a word is that of a clause: `extract(year FROM x)` and `IS DISTINCT FROM x` name no tables."""
    if word == "from":
        return level.is_query and before != "distinct"
    return word == "join" or level.is_empty
