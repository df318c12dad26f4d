"""Sources and transforms, as a pipeline's file has them."""

from __future__ import annotations

from lanceway.pipelines import graph
from lanceway.pipelines.file.fields import Fields
from lanceway.pipelines.file.problems import Problems
from lanceway.pipelines.file.yaml import Value
from lanceway.pipelines.model import (
    BATCHES,
    DROP,
    FAIL,
    FILES,
    FORMAT,
    JDBC,
    PYTHON,
    QUARANTINE,
    SQL,
    STREAM,
    TABLE,
    Expectation,
    Source,
    Transform,
)

_SOURCES = (FILES, TABLE, STREAM, JDBC, FORMAT, PYTHON)
_OF_STREAMS = ("into", "checkpoint")
_SOURCE_KEYS = (*_SOURCES, "options", "with", "schema", "incremental", "expect", *_OF_STREAMS)
_TRANSFORMS = (SQL, PYTHON, BATCHES)
_TRANSFORM_KEYS = (*_TRANSFORMS, "inputs", "with", "schema", "expect")
_EXPECTATION_KEYS = ("name", "that", "otherwise", "into")


def read_source(name: str, value: Value, problems: Problems) -> Source:
    given = Fields(f"The source {name!r}", value, _SOURCE_KEYS, problems)
    # `format` says how files are read, and is a source of its own where there are none.
    chosen = [kind for kind in _SOURCES if given.get(kind) is not None and (kind != FORMAT or not given.has(FILES))]
    if len(chosen) != 1:
        problems.add(
            given.at, f"{given.owner} must have exactly one of {', '.join(_SOURCES)}: format goes with files, too."
        )
    kind = chosen[0] if chosen else FILES
    if kind == FILES and given.has(FILES) and given.text(FORMAT) is None:
        problems.add(given.at, f"{given.owner} needs format: how Spark reads its files, such as json or parquet.")
    where = given.texts(kind)
    if kind == JDBC:
        where = tuple(given.filled(text, given.line(kind)) for text in where)
    if kind != FILES and len(where) > 1:
        given.wrong(kind, f"{kind} must be one text.")
    _check_stream(given, kind)
    return Source(
        name,
        kind,
        where,
        given.line(kind) if chosen else given.at,
        format=given.text(FORMAT),
        options=given.options("options"),
        arguments=given.arguments("with"),
        schema=given.text("schema"),
        incremental=given.flag("incremental", True) and kind in (FILES, TABLE, STREAM),
        expect=_expectations(given),
        into=given.text("into"),
        checkpoint=given.text("checkpoint"),
    )


def _check_stream(given: Fields, kind: str) -> None:
    if kind == STREAM:
        given.require("into", "the table that its rows are taken over into, such as lake.raw.clicks, or a path")
        if given.has("incremental"):
            given.wrong("incremental", "a stream is always read part by part. Read its table whole in another source.")
        return
    for key in _OF_STREAMS:
        if given.has(key):
            given.wrong(key, f"{key} is for a {STREAM}.")


def read_transform(name: str, value: Value, known: list[str], problems: Problems) -> Transform:
    given = Fields(f"The transform {name!r}", value, _TRANSFORM_KEYS, problems)
    chosen = [kind for kind in _TRANSFORMS if given.get(kind) is not None]
    if len(chosen) != 1:
        problems.add(given.at, f"{given.owner} must have exactly one of {', '.join(_TRANSFORMS)}.")
    kind = chosen[0] if chosen else SQL
    body = given.text(kind) or ""
    inputs = given.texts("inputs")
    if not inputs and kind == SQL:
        inputs = tuple(one for one in graph.names_in(body, known) if one != name)
    if chosen and not inputs:
        mentioned = "mentions none of the steps" if kind == SQL else "needs inputs"
        problems.add(given.line(kind), f"{given.owner} {mentioned}. There are: {', '.join(known)}.", "missing input")
    if kind == BATCHES:
        given.require("schema", "the columns that its function answers, such as id BIGINT, text STRING")
        if len(inputs) > 1:
            given.wrong("inputs", "a function of batches has one input.")
    if kind == PYTHON and given.has("schema"):
        given.wrong("schema", "the function's data frame has a schema of its own.")
    return Transform(
        name,
        kind,
        body,
        inputs,
        given.line("inputs") if given.has("inputs") else given.line(kind),
        given.first(kind),
        given.arguments("with"),
        given.text("schema"),
        _expectations(given),
    )


def _expectations(step: Fields) -> tuple[Expectation, ...]:
    found = [_expectation(step, number, value) for number, value in enumerate(step.items("expect"), 1)]
    tables = {one.into for one in found if one.into}
    if len(tables) > 1:
        step.wrong("expect", f"rows that are put aside go into one table, but {', '.join(sorted(tables))} are named.")
    names = [one.name for one in found]
    for one in found:
        if names.count(one.name) > 1:
            step.problems.add(one.line, f"{step.owner} has two expectations named {one.name!r}.")
    return tuple(found)


def _expectation(step: Fields, number: int, value: Value) -> Expectation:
    given = Fields(
        f"Expectation {number} of {step.owner[0].lower()}{step.owner[1:]}", value, _EXPECTATION_KEYS, step.problems
    )
    given.require("that", "what must hold of each row, as SQL")
    otherwise = given.choice("otherwise", (DROP, FAIL, QUARANTINE), FAIL)
    into = given.text("into")
    if otherwise == QUARANTINE:
        given.require("into", "the table for rows that are put aside")
    elif into is not None:
        given.wrong("into", f"only otherwise: {QUARANTINE} puts rows into a table.")
    that = given.text("that") or ""
    return Expectation(given.text("name") or that, that, otherwise, into, given.line("that"))
