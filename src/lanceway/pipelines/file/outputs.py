"""Outputs, as a pipeline's file has them."""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.pipelines.file.fields import Fields
from lanceway.pipelines.file.problems import Problems
from lanceway.pipelines.file.yaml import Value
from lanceway.pipelines.model import APPEND, MERGE, OVERWRITE, Index, Output, Retention

_KEYS = ("from", "table", "mode", "keys", "schema", "vectors", "indices", "tags", "publish", "retention")
_INDEX_KEYS = ("column", "type", "name", "options")
_RETENTION_KEYS = ("versions", "days")


def read_output(name: str, value: Value, problems: Problems) -> Output:
    given = Fields(f"The output {name!r}", value, _KEYS, problems)
    given.require("from", "the step whose rows are written")
    given.require("table", "the table, such as lake.sales.orders, or a path")
    keys = given.texts("keys")
    mode = given.choice("mode", (APPEND, OVERWRITE, MERGE), MERGE if keys else APPEND)
    if mode == MERGE and not keys:
        given.wrong("mode", "merge needs keys, the columns by which rows match.")
    if mode == APPEND and keys:
        given.wrong("mode", "append knows no keys. Leave one of the two out: with keys, rows are merged.")
    return Output(
        name,
        given.text("from") or "",
        given.text("table") or "",
        mode,
        given.line("from"),
        {key: given.line(key) for key in _KEYS if given.has(key)},
        keys,
        _schema(given),
        _vectors(given),
        tuple(_index(given, value) for value in given.items("indices")),
        given.texts("tags"),
        given.texts("publish"),
        _retention(given),
    )


def _schema(given: Fields) -> str | None:
    """Columns and their types: as Spark writes them in one text, or as a mapping."""
    found = given.get("schema")
    if found is None or not isinstance(found.data, dict):
        return given.text("schema")
    return ", ".join(f"`{column}` {type_.data}" for column, type_ in found.data.items())


def _vectors(given: Fields) -> Mapping[str, int]:
    found = {column: value.data for column, value in given.mapping("vectors").items()}
    for column, size in found.items():
        if type(size) is not int or size < 1:
            given.wrong("vectors", f"the vector {column!r} must have its size, a whole number, but has {size!r}.")
    return found


def _index(output: Fields, value: Value) -> Index:
    given = Fields(f"An index of {output.owner[0].lower()}{output.owner[1:]}", value, _INDEX_KEYS, output.problems)
    given.require("column", "what it is for")
    given.require("type", "such as BTREE, FTS or IVF_FLAT")
    column = given.text("column") or ""
    return Index(
        column, given.text("type") or "", given.text("name") or f"{column}_idx", given.arguments("options"), given.at
    )


def _retention(output: Fields) -> Retention | None:
    found = output.get("retention")
    if found is None:
        return None
    given = Fields(
        f"The retention of {output.owner[0].lower()}{output.owner[1:]}", found, _RETENTION_KEYS, output.problems
    )
    versions, days = given.number("versions"), given.number("days", 0)
    if not given.has("versions") and not given.has("days"):
        output.wrong("retention", "retention needs versions, how many are kept, or days, how long.")
    return Retention(versions, days, output.line("retention"))
