"""The keys of one mapping of a pipeline's file: each read by its kind, and what is wrong becomes a problem."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanceway import config
from lanceway.config.settings import as_text, unknown
from lanceway.pipelines import model
from lanceway.pipelines.file import yaml
from lanceway.pipelines.file.yaml import Problems, Value
from lanceway.pipelines.model import (
    APPEND,
    BATCHES,
    DROP,
    FAIL,
    FILES,
    FORMAT,
    JDBC,
    MERGE,
    OVERWRITE,
    PYTHON,
    QUARANTINE,
    SQL,
    STREAM,
    TABLE,
    Expectation,
    Index,
    Node,
    Pipeline,
    PipelineOutput,
    PipelineSource,
    Retention,
    Transform,
)

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Fields:
    """What stands under one key. A value of the wrong kind is told, and counts as not given."""

    def __init__(self, owner: str, value: Value, known: Iterable[str], problems: Problems) -> None:
        self.owner, self.problems, self.at = owner, problems, value.line
        self._value = value
        self._found: Mapping[str, Value] = {}
        if not isinstance(value.data, dict):
            problems.add(value.line, f"{owner} must be a mapping, but it is {value.kind}.")
            return
        self._found, names = value.data, tuple(known)
        for key, line in value.lines.items():
            if key not in names:
                problems.add(line, unknown(owner, names, key, "key"), "unknown key")

    def has(self, key: str) -> bool:
        return key in self._found

    def line(self, key: str) -> int:
        return self._value.lines.get(key, self.at)

    def first(self, key: str) -> int:
        """The line that a text itself begins in."""
        return self._found[key].first if key in self._found else self.at

    def get(self, key: str) -> Value | None:
        found = self._found.get(key)
        return None if found is None or found.data is None else found

    def wrong(self, key: str, message: str) -> None:
        self.problems.add(self.line(key), f"{self.owner}: {message}")

    def require(self, key: str, what: str) -> None:
        if self.get(key) is None:
            self.problems.add(self.at, f"{self.owner} needs {key}: {what}.", "missing")

    def text(self, key: str) -> str | None:
        found = self.get(key)
        if found is None:
            return None
        if isinstance(found.data, dict | list) or not str(found.data).strip():
            self.wrong(key, f"{key} must be a text, but it is {found.kind if found.data != '' else 'empty'}.")
            return None
        return as_text(found.data)

    def texts(self, key: str) -> tuple[str, ...]:
        """One text or several."""
        found = self.get(key)
        if found is None:
            return ()
        items = found.data if isinstance(found.data, list) else [found]
        if not all(isinstance(item.data, str | int | float) for item in items):
            self.wrong(key, f"{key} must be a text or a list of texts.")
            return ()
        return tuple(as_text(item.data) for item in items)

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        given = self.text(key)
        if given is None:
            return default
        if given.lower() not in choices:
            self.wrong(key, f"{key} is {given!r}, but must be one of {', '.join(choices)}.")
            return default
        return given.lower()

    def flag(self, key: str, default: bool) -> bool:
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found.data, bool):
            self.wrong(key, f"{key} must be true or false, but it is {found.kind}.")
            return default
        return found.data

    def number(self, key: str, least: int = 1) -> int | None:
        found = self.get(key)
        if found is None:
            return None
        if type(found.data) is not int or found.data < least:
            self.wrong(key, f"{key} must be a whole number of at least {least}.")
            return None
        return found.data

    def mapping(self, key: str) -> Mapping[str, Value]:
        found = self.get(key)
        if found is None:
            return {}
        if not isinstance(found.data, dict):
            self.wrong(key, f"{key} must be a mapping, but it is {found.kind}.")
            return {}
        return found.data

    def items(self, key: str) -> list[Value]:
        found = self.get(key)
        if found is None:
            return []
        if not isinstance(found.data, list):
            self.wrong(key, f"{key} must be a list, but it is {found.kind}.")
            return []
        return found.data

    def options(self, key: str) -> dict[str, str]:
        """Texts by their names; `${NAME}` in one stands for a variable of the environment."""
        found = {name: (value, as_text(value.data)) for name, value in self.mapping(key).items()}
        return {name: self.filled(text, value.line) for name, (value, text) in found.items()}

    def filled(self, text: str, line: int) -> str:
        def value(match: re.Match[str]) -> str:
            found = config.variable(match[1])
            if found is None:
                self.problems.add(line, f"{self.owner}: the variable {match[1]} is not set in the environment.")
            return found or ""

        return _VARIABLE.sub(value, text)

    def arguments(self, key: str) -> dict[str, Any]:
        return {name: value.plain() for name, value in self.mapping(key).items()}


_SOURCES = (FILES, TABLE, STREAM, JDBC, FORMAT, PYTHON)
_OF_STREAMS = ("into", "checkpoint")
_SOURCE_KEYS = (*_SOURCES, "options", "with", "schema", "incremental", "expect", *_OF_STREAMS)
_TRANSFORMS = (SQL, PYTHON, BATCHES)
_TRANSFORM_KEYS = (*_TRANSFORMS, "inputs", "with", "schema", "expect")
_EXPECTATION_KEYS = ("name", "that", "otherwise", "into")


def read_source(name: str, value: Value, problems: Problems) -> PipelineSource:
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
    return PipelineSource(
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
        inputs = tuple(one for one in model.names_in(body, known) if one != name)
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


_OUTPUT_KEYS = ("from", "table", "mode", "keys", "schema", "vectors", "indices", "tags", "publish", "retention")
_INDEX_KEYS = ("column", "type", "name", "options")
_RETENTION_KEYS = ("versions", "days")


def read_output(name: str, value: Value, problems: Problems) -> PipelineOutput:
    given = Fields(f"The output {name!r}", value, _OUTPUT_KEYS, problems)
    given.require("from", "the step whose rows are written")
    given.require("table", "the table, such as lake.sales.orders, or a path")
    keys = given.texts("keys")
    mode = given.choice("mode", (APPEND, OVERWRITE, MERGE), MERGE if keys else APPEND)
    if mode == MERGE and not keys:
        given.wrong("mode", "merge needs keys, the columns by which rows match.")
    if mode == APPEND and keys:
        given.wrong("mode", "append knows no keys. Leave one of the two out: with keys, rows are merged.")
    return PipelineOutput(
        name,
        given.text("from") or "",
        given.text("table") or "",
        mode,
        given.line("from"),
        {key: given.line(key) for key in _OUTPUT_KEYS if given.has(key)},
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


_KEYS = ("pipeline", "description", "together", "sources", "transforms", "outputs")
# Names become those of temporary views.
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def load(file: str | Path) -> Pipeline:
    """The pipeline that a file describes. Raises InvalidPipelineError with every problem that can be told without
    asking a catalog, and InvalidInputError where the file cannot be read."""
    path = Path(file)
    problems = Problems(path)
    found = _pipeline(path, problems)
    problems.raise_if_any()
    assert found is not None, "whatever makes it None is a problem"
    return found


def _pipeline(path: Path, problems: Problems) -> Pipeline | None:
    document = yaml.parse(yaml.read(path), problems)
    if document is None:
        return None
    whole = Fields("The pipeline", document, _KEYS, problems)
    whole.require("pipeline", "the name under which its runs are kept")
    whole.require("outputs", "the tables that it writes")
    sources = {name: read_source(name, value, problems) for name, value in _named(whole, "sources")}
    known = [*sources, *(name for name, _ in _named(whole, "transforms", tell=False))]
    transforms = {name: read_transform(name, value, known, problems) for name, value in _named(whole, "transforms")}
    outputs = {name: read_output(name, value, problems) for name, value in _named(whole, "outputs")}
    _check_names(whole, sources, transforms, outputs)
    _check_inputs(problems, sources, transforms, outputs)
    if problems.wrong:
        return None
    found = Pipeline(
        whole.text("pipeline") or "",
        path,
        sources,
        transforms,
        outputs,
        whole.flag("together", False),
        whole.text("description"),
    )
    _note(found, problems)
    return replace(found, notes=tuple(problem for problem in problems.found if not problem.wrong))


def _named(whole: Fields, key: str, *, tell: bool = True) -> Iterator[tuple[str, Value]]:
    for name, value in whole.mapping(key).items():
        if tell and not _NAME.fullmatch(name):
            whole.problems.add(
                value.line, f"{name!r} cannot be a name here: use letters, digits and _, and begin with no digit."
            )
        yield name, value


def _check_names(
    whole: Fields,
    sources: Mapping[str, PipelineSource],
    transforms: Mapping[str, Transform],
    outputs: Mapping[str, PipelineOutput],
) -> None:
    seen: dict[str, int] = {}
    nodes: list[Node] = [*sources.values(), *transforms.values(), *outputs.values()]
    for node in nodes:
        if node.name in seen:
            whole.problems.add(node.line, f"The name {node.name!r} was given in line {seen[node.name]} already.")
        seen.setdefault(node.name, node.line)


def _check_inputs(
    problems: Problems,
    sources: Mapping[str, PipelineSource],
    transforms: Mapping[str, Transform],
    outputs: Mapping[str, PipelineOutput],
) -> None:
    known = [*sources, *transforms]
    readers: list[Transform | PipelineOutput] = [*transforms.values(), *outputs.values()]
    for node in readers:
        for name in node.inputs:
            if name and name not in known:
                problems.add(node.line, _missing(node.name, name, known, outputs), "missing input")
    circle = model.cycle({name: tuple(one for one in node.inputs if one in known) for name, node in transforms.items()})
    if circle is not None:
        problems.add(transforms[circle[0]].line, f"These need one another: {' → '.join(circle)}.", "cycle")


def _missing(step: str, name: str, known: list[str], outputs: Mapping[str, PipelineOutput]) -> str:
    if name in outputs:
        return f"{step!r} reads {name!r}, which is an output. Read what that is made from: {outputs[name].source}."
    from lanceway.config.settings import unknown

    return unknown(f"{step!r} reads {name!r}, but the pipeline", known, name, "step")


def _note(pipeline: Pipeline, problems: Problems) -> None:
    """What may be meant, and is more often a mistake."""
    for node in pipeline.steps.values():
        if not model.consumers(pipeline, node.name):
            problems.warn(node.line, f"Nothing reads {node.name!r}, so it is not computed.")
    for transform in pipeline.transforms.values():
        new = [one.name for one in model.sources_of(pipeline, transform.name) if one.incremental and one.has_versions]
        if len(transform.inputs) > 1 and len(new) > 1:
            problems.warn(
                transform.line,
                f"{transform.name!r} brings {' and '.join(new)} together, and of each it sees only what is new. Set "
                "incremental to false for a source in which rows of the others are looked up.",
            )
    for output in pipeline.outputs.values():
        whole = [one.name for one in model.sources_of(pipeline, output.name) if not one.has_versions]
        if output.mode == APPEND and whole and whole == [one.name for one in model.sources_of(pipeline, output.name)]:
            problems.warn(
                output.line,
                f"{', '.join(whole)} is read whole by each run, and its rows are added to {output.table} each time. "
                f"Give keys, or mode: {OVERWRITE}.",
            )
