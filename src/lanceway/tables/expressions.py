"""Bounds of SQL expressions, full-text queries and numbers, checked before pylance reads them.

pylance parses and plans an expression by recursion: some thousand operators in a row overflow the stack, which ends
the process, and long sums take minutes. Some functions make gigabytes of a few characters. Neither can be stopped once
it has begun, so whatever expects an expression from outside calls `check` first.

The text is divided into tokens as pylance's own parser does it. What the two might read differently, such as comments
and strings with a prefix, is refused: an operator must not hide there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from lanceway.errors import InvalidInputError

# Of all expressions of one request together.
MOST_CHARACTERS = 256 * 2**10
MOST_OPERATORS = 1_000
MOST_NESTED = 64
# How many times longer than its arguments the result of functions may be.
MOST_GROWTH = 10_000
# How many rows a search may find, and any other number of a request.
MOST_NEIGHBOURS = 1_000_000
MOST_THREADS = 1_024
MOST_OF_ANY = 1_000_000
MOST_ROWS = 2**63 - 1  # a plain query may ask for all
# Of one full-text query.
MOST_TERMS = 64 * 2**10  # characters
MOST_CLAUSES = 1_000
MOST_NESTED_CLAUSES = 32

_TOKEN = re.compile(
    r"""\s+
    | (?P<text> '(?:[^']|'')*' | "(?:[^"]|"")*" )
    | (?P<quoted> `(?:[^`]|``)*` )
    | (?P<number> [0-9][0-9A-Za-z_.]* )
    | (?P<word> [^\W\d]\w* )
    | (?P<refused> -- | /\* | \$ )
    | (?P<symbol> <= | >= | <> | != | \|\| | :: | -> | . )""",
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE, _NO_OPERATORS = "([{", ")]}", ",;(){}]"
_WORD_OPERATORS = frozenset(
    {"and", "or", "not", "xor", "is", "in", "like", "ilike", "similar", "rlike", "regexp", "between", "case", "when"}
    | {"div", "at", "collate", "overlaps"}
)
# Where such a prefix stands before a quote, what ends the string depends on the dialect.
_PREFIXES = frozenset(["b", "br", "e", "n", "nq", "q", "r", "rb", "u", "x"])
# Functions whose second argument says how long the result is, and those all of whose arguments do.
_SIZED = frozenset(["repeat", "lpad", "rpad", "array_repeat", "list_repeat", "array_resize", "list_resize"])
_SERIES = frozenset(["range", "generate_series", "gen_series"])
# Functions that put one argument into another many times.
_REPLACING = frozenset(["replace", "regexp_replace"])
_JOINING = frozenset(["array_to_string", "array_join", "list_to_string", "list_join", "concat_ws"])
_UNKNOWN_GROWTH = 1_000


def check(operation: str, *expressions: str | None) -> None:
    """Refuse expressions that are too long, too deep or too costly to be read. Raises InvalidInputError."""
    characters = operators = 0
    for expression in expressions:
        if not expression:
            continue
        characters += len(expression)
        if characters > MOST_CHARACTERS:
            raise _refusal(operation, f"more than {MOST_CHARACTERS:,} characters")
        operators += _read(operation, expression)
        if operators > MOST_OPERATORS:
            raise _refusal(operation, f"more than {MOST_OPERATORS:,} operators")


def _refusal(operation: str, what: str) -> InvalidInputError:
    # The expression stays out: it is long.
    return InvalidInputError(
        f"{operation}: the filter or SQL expression is too complex: it has {what}. Write a list of values as "
        "column IN (…) instead of many ORs, or ask several times."
    )


@dataclass(slots=True)
class _Call:
    """An open bracket: the function before it, and its arguments so far, each by its only token."""

    name: str
    arguments: list[list[str]] = field(default_factory=lambda: [[]])
    growths: list[int] = field(default_factory=list)  # of the calls inside

    def growth(self) -> int:
        """Return how many times longer than what it is made from the result may be."""
        inner = max(self.growths, default=1)
        if self.name in _SIZED:
            return inner * self._size(1)
        if self.name in _SERIES:
            return inner * max(map(self._size, range(len(self.arguments))))
        if self.name in _REPLACING:
            return prod(self.growths) * self._length(2)
        return prod(self.growths) if self.name in _JOINING else inner

    def _size(self, place: int) -> int:
        """Return the number that an argument is; the largest where it is computed."""
        tokens = [token for token in self._tokens(place) if token not in "+-"]
        is_number = len(tokens) == 1 and tokens[0].isascii() and tokens[0].isdigit() and len(tokens[0]) < 10
        return max(1, int(tokens[0])) if is_number else MOST_GROWTH + 1

    def _length(self, place: int) -> int:
        """Return the length of a text; a cautious number where it is no constant."""
        tokens = self._tokens(place)
        return max(1, len(tokens[0]) - 2) if len(tokens) == 1 and tokens[0][0] in "'\"" else _UNKNOWN_GROWTH

    def _tokens(self, place: int) -> list[str]:
        return self.arguments[place] if place < len(self.arguments) else []


def _read(operation: str, expression: str) -> int:
    """Return the number of operators. Raises InvalidInputError for what is refused whatever their number."""
    operators, before, end = 0, "", 0
    calls = [_Call("")]
    for match in _TOKEN.finditer(expression):
        kind, token = match.lastgroup, match[0]
        if kind is None:  # white space
            continue
        has_prefix = kind == "text" and match.start() == end and before.lower() in _PREFIXES
        if kind == "refused" or has_prefix:
            raise InvalidInputError(
                f"{operation}: the filter or SQL expression has a comment, a $ or a string with a prefix. "
                "Write it without, and strings as 'text'."
            )
        if token in _OPEN:
            calls.append(_Call(before.strip("`").lower()))
            if len(calls) > MOST_NESTED:
                raise _refusal(operation, f"brackets more than {MOST_NESTED} deep")
        elif token in _CLOSE and len(calls) > 1:
            _close(operation, calls)
        elif token == ",":
            calls[-1].arguments.append([])
        else:
            calls[-1].arguments[-1].append(token)
        if (kind == "symbol" and token not in _NO_OPERATORS) or (kind == "word" and token.lower() in _WORD_OPERATORS):
            is_sign = token in "+-" and before in ("(", ",")
            operators += not is_sign
        before, end = token, match.end()
    return operators


def _close(operation: str, calls: list[_Call]) -> None:
    call = calls.pop()
    growth = call.growth()
    if growth > MOST_GROWTH:
        raise InvalidInputError(
            f"{operation}: the filter or SQL expression calls {call.name or 'functions'} in a way that may make very "
            f"long values. The size must be a number, and all of them together at most {MOST_GROWTH:,}."
        )
    calls[-1].growths.append(growth)
    calls[-1].arguments[-1].append("()")


# -- full-text queries ---------------------------------------------------------------------------


def check_text_query(operation: str, query: Any) -> None:
    """Refuse a full-text query, a model of the contract, with too much text or too many clauses."""
    terms = 0
    for clauses, (depth, part) in enumerate(_parts(query), 1):
        terms += len(part) if isinstance(part, str) else 0
        if terms > MOST_TERMS or clauses > MOST_CLAUSES or depth > MOST_NESTED_CLAUSES:
            raise InvalidInputError(
                f"{operation}: the full-text query is too complex. It may have {MOST_TERMS:,} characters and "
                f"{MOST_CLAUSES:,} clauses, {MOST_NESTED_CLAUSES} deep. Search for fewer terms."
            )


def _parts(query: Any) -> Iterator[tuple[int, Any]]:
    """Yield the texts of a query and the queries inside it, with how deep they stand; without recursion."""
    stack: list[tuple[int, Any]] = [(0, query)]
    while stack:
        depth, value = stack.pop()
        if isinstance(value, int) and value > MOST_OF_ANY:
            raise _too_large("query_table", "a number of the full-text query", value, MOST_OF_ANY)
        if value is None or isinstance(value, bool | int | float):
            continue
        yield depth, value
        stack += ((depth + 1, inner) for inner in _inside(value))


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return ()
    if isinstance(value, list | tuple):
        return value
    return [getattr(value, name) for name in type(value).model_fields]


# -- numbers -------------------------------------------------------------------------------------


def check_numbers(operation: str, request: Any, names: Iterable[str], most: int = MOST_OF_ANY) -> None:
    """Refuse numbers of a request beyond what is sensible: memory and threads are taken for them at once."""
    for name in names:
        value = getattr(request, name, None)
        if value is not None and value > most:
            raise _too_large(operation, name, value, most)


def check_neighbours(operation: str, k: int, offset: int | None) -> None:
    """Refuse a search for more rows than are ever looked at: it keeps all of them in memory."""
    if k + (offset or 0) > MOST_NEIGHBOURS:
        raise _too_large(operation, "k, with offset,", k + (offset or 0), MOST_NEIGHBOURS)


def _too_large(operation: str, name: str, value: float, most: int) -> InvalidInputError:
    return InvalidInputError(f"{operation}: {name} is {value:,}, but may be at most {most:,}. Ask for less.")
