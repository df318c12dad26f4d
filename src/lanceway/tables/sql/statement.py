"""A query before it runs: that it is one, which tables it names, and that it reads nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.tables.sql import session
from lanceway.tables.sql.names import Lexeme, LocalName, NamedQuery, local_names

if TYPE_CHECKING:
    import duckdb

Node = Mapping[str, Any]

# Functions that stand where a table may, and read nothing: the others read files, memory and settings.
TABLE_FUNCTIONS = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"})

_WORD = re.compile(r'"(?:[^"]|"")*"|[^\W\d][\w$]*')
_NOT_A_QUERY = "sql: only queries can be run, such as SELECT … FROM …"


@dataclass(frozen=True, slots=True)
class Statement:
    """One query: its text as DuckDB takes it, and its tables by the names that they have there."""

    text: str
    tables: Mapping[LocalName, Identifier]


def parse(query: str) -> Statement:
    """Read a query without running anything. Raises InvalidInputError for what is not one query over tables."""
    with session.opened() as connection:
        named = local_names(query, list(_tokens(query)))
        nodes = list(_nodes(_tree(connection, query, named)))
    for node, _ in nodes:
        _check(node)
    return Statement(named.text, dict(_tables(nodes, named.names)))


def _tokens(query: str) -> Iterator[Lexeme]:
    """Yield the words and signs of a query, without comments, by DuckDB's own reading."""
    import duckdb

    text = query.encode()
    starts = [start for start, _ in duckdb.tokenize(query)]
    position = len(text[: starts[0]].decode()) if starts else 0
    for start, following in pairwise([*starts, len(text)]):
        piece = text[start:following].decode()
        word = _WORD.match(piece)
        token = word[0] if word else piece[0] if piece[0] in "().,;" else piece.rstrip()
        yield Lexeme(token, position, position + len(token))
        position += len(piece)


def _tree(connection: duckdb.DuckDBPyConnection, query: str, named: NamedQuery) -> Any:
    """Return the query as DuckDB's parser reads it. Raises InvalidInputError where it is not one."""
    tree = _serialized(connection, named.text)
    if tree.get("error_type") == "parser":
        raise _syntax_error(query, named, tree)
    statements = tree.get("statements", [])
    if tree["error"]:
        raise InvalidInputError(f"{_NOT_A_QUERY}; {_other_statement(connection, query)} is not one. Nothing was run.")
    if len(statements) != 1:
        count = len(statements) or "no"
        raise InvalidInputError(f"sql: one query is run at a time, but there are {count}. Nothing was run.")
    return statements


def _other_statement(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return how the first statement begins that is not a query."""
    tokens = list(_tokens(query))
    ends = [token for token in tokens if token.text == ";"]
    starts = [0, *(token.end for token in ends)]
    for start, end in zip(starts, [*(token.start for token in ends), len(query)], strict=True):
        words = [token.word for token in tokens if start <= token.start < end]
        if words and _serialized(connection, query[start:end])["error"]:
            return words[0].upper()
    return "this"


def _serialized(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """Return what DuckDB's parser makes of a text. Nothing of it is run or looked up."""
    row = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {}
    return tree


def _syntax_error(query: str, named: NamedQuery, tree: Mapping[str, Any]) -> InvalidInputError:
    reason = f"sql: {tree['error_message']}"
    if "position" not in tree:
        return InvalidInputError(f"{reason.rstrip('.')}. Nothing was run.")
    before = query[: named.original(int(tree["position"]))]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return InvalidInputError(f"{reason}, in line {line}, column {column}. Nothing was run.")


def _nodes(tree: Any) -> Iterator[tuple[Node, frozenset[str]]]:
    """Yield every node of a tree with the names of WITH that hold there, without recursion: queries may be deep."""
    waiting = [(tree, frozenset[str]())]
    while waiting:
        node, names = waiting.pop()
        if isinstance(node, Mapping):
            for name, query in _named_queries(node):
                # In its own query a name is still what it was before, unless that is recursive.
                recursive = query["node"]["type"] == "RECURSIVE_CTE_NODE"
                waiting.append((query, names | {name} if recursive else names))
                names |= {name}
            yield node, names
            waiting += [(child, names) for key, child in node.items() if key != "cte_map"]
        elif isinstance(node, list):
            waiting += [(child, names) for child in node]


def _named_queries(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield what a node names by WITH, in order."""
    for entry in node.get("cte_map", {}).get("map", ()):
        yield str(entry["key"]).lower(), entry["value"]["query"]


def _check(node: Node) -> None:
    """Refuse what reads something else than tables."""
    kind = node.get("type")
    if kind == "TABLE_FUNCTION":
        name = str(node["function"].get("function_name", "")).lower()
        if name not in TABLE_FUNCTIONS:
            raise InvalidInputError(
                f"sql: {name}() is not available: queries read the catalog's tables alone, no files and no settings. "
                "Nothing was run."
            )
    elif kind == "SHOW_REF" and node.get("query") is None:
        raise InvalidInputError("sql: SHOW is not available. `lanceway tables list --all` lists the tables.")
    elif kind == "BASE_TABLE" and node.get("at_clause") is not None:
        raise InvalidInputError(
            "sql: AT is not available. In Python name the older version: lake.sql('SELECT … FROM old', "
            "old=lake['team.fruit'].at(3))."
        )


def _tables(
    nodes: Iterable[tuple[Node, frozenset[str]]], known: Mapping[LocalName, Identifier]
) -> Iterator[tuple[LocalName, Identifier]]:
    """Yield the tables that a query names. The catalog's go before what DuckDB has itself, such as `duckdb_tables`."""
    seen: dict[LocalName, Identifier] = {}
    for node, with_names in nodes:
        if node.get("type") != "BASE_TABLE":
            continue
        parts = tuple(part for part in (node["catalog_name"], node["schema_name"], node["table_name"]) if part)
        if len(parts) == 1 and parts[0].lower() in with_names:
            continue
        local = (parts[-2] if len(parts) > 1 else "", parts[-1])
        identifier = known.get(local) or Identifier(parts)
        other = seen.setdefault((local[0].lower(), local[1].lower()), identifier)
        if other != identifier:
            raise InvalidInputError(
                f"sql: {other} and {identifier} differ in case alone, which one query cannot tell apart."
            )
        yield local, identifier
