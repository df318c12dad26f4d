"""Load a pipeline from its file: read each key by its kind, and collect every problem with its line.

Every problem of a file is reported at once, with its line and what to write instead. So rules between keys are checked
of a file that has wrong values elsewhere, which is why values are read here and not by models of pydantic: those exist
only of a file whose every value is right (`docs/decisions/037-reading-pipelines.md`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    REBUILD,
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
    """The keys of one mapping of the file, each read as one kind of value.

    A value of the wrong kind is added to the problems with its line, and then counts as missing, so that one pass finds
    every problem of a file.
    """

    def __init__(self, owner: str, value: Value, keys: Iterable[str], problems: Problems) -> None:
        self.owner, self.problems, self.at = owner, problems, value.line
        self._lines = value.lines
        self._values: Mapping[str, Value] = {}
        if not isinstance(value.data, dict):
            problems.add(value.line, f"{owner} must be a mapping, but it is {value.kind}.")
            return
        self._values, names = value.data, tuple(keys)
        for key, line in value.lines.items():
            if key not in names:
                problems.add(line, unknown(owner, names, key, "key"), "unknown key")

    def part(self, kind: str, value: Value, keys: Iterable[str]) -> Fields:
        """Return the fields of a mapping inside this one, such as an index of an output."""
        return Fields(f"{kind} of {self.owner[0].lower()}{self.owner[1:]}", value, keys, self.problems)

    def has(self, key: str) -> bool:
        return key in self._values

    def line(self, key: str) -> int:
        return self._lines.get(key, self.at)

    def first(self, key: str) -> int:
        """Return the line in which the text itself begins, which may be the one after its key."""
        return self._values[key].first if key in self._values else self.at

    def get(self, key: str) -> Value | None:
        value = self._values.get(key)
        return None if value is None or value.data is None else value

    def wrong(self, key: str, message: str) -> None:
        self.problems.add(self.line(key), f"{self.owner}: {message}")

    def require(self, key: str, what: str) -> None:
        if self.get(key) is None:
            self.problems.add(self.at, f"{self.owner} needs {key}: {what}.", "missing")

    def _read(self, key: str, accepts: Callable[[Any], bool], expected: str, default: Any) -> Any:
        value = self.get(key)
        if value is None:
            return default
        if accepts(value.data):
            return value.data
        self.wrong(key, f"{key} must be {expected}, but it is {value.kind}.")
        return default

    def text(self, key: str) -> str | None:
        """Return a text; numbers, dates and true or false count as texts."""
        data = self._read(key, _is_text, "a text", None)
        return None if data is None else as_text(data)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return one text or several."""
        value = self.get(key)
        if value is None:
            return ()
        items = value.data if isinstance(value.data, list) else [value]
        if not all(isinstance(item.data, str | int | float) for item in items):
            self.wrong(key, f"{key} must be a text or a list of texts.")
            return ()
        return tuple(as_text(item.data) for item in items)

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        text = self.text(key)
        if text is None:
            return default
        if text.lower() not in choices:
            self.wrong(key, f"{key} is {text!r}, but must be one of {', '.join(choices)}.")
            return default
        return text.lower()

    def flag(self, key: str, default: bool) -> bool:
        return bool(self._read(key, lambda data: isinstance(data, bool), "true or false", default))

    def number(self, key: str, least: int = 1) -> int | None:
        expected = f"a whole number of at least {least}"
        number: int | None = self._read(key, lambda data: type(data) is int and data >= least, expected, None)
        return number

    def mapping(self, key: str) -> Mapping[str, Value]:
        values: Mapping[str, Value] = self._read(key, lambda data: isinstance(data, dict), "a mapping", {})
        return values

    def items(self, key: str) -> list[Value]:
        values: list[Value] = self._read(key, lambda data: isinstance(data, list), "a list", [])
        return values

    def options(self, key: str) -> dict[str, str]:
        """Return texts by their names; `${NAME}` in one stands for a variable of the environment."""
        return {name: self.filled(as_text(value.data), value.line) for name, value in self.mapping(key).items()}

    def filled(self, text: str, line: int) -> str:
        def variable(match: re.Match[str]) -> str:
            value = config.variable(match[1])
            if value is None:
                self.problems.add(line, f"{self.owner}: the variable {match[1]} is not set in the environment.")
            return value or ""

        return _VARIABLE.sub(variable, text)

    def arguments(self, key: str) -> dict[str, Any]:
        return {name: value.plain() for name, value in self.mapping(key).items()}


def _is_text(data: object) -> bool:
    return not isinstance(data, dict | list) and bool(str(data).strip())


_SOURCES = (FILES, TABLE, STREAM, JDBC, FORMAT, PYTHON)
_OF_STREAMS = ("into", "checkpoint")
_SOURCE_KEYS = (*_SOURCES, "options", "with", "schema", "incremental", "expect", *_OF_STREAMS)
_TRANSFORMS = (SQL, PYTHON, BATCHES)
_TRANSFORM_KEYS = (*_TRANSFORMS, "inputs", "with", "schema", "expect")
_EXPECTATION_KEYS = ("name", "that", "otherwise", "into")


def read_source(name: str, value: Value, problems: Problems) -> PipelineSource:
    fields = Fields(f"The source {name!r}", value, _SOURCE_KEYS, problems)
    # `format` says how files are read, and is a source of its own where there are none.
    chosen = [kind for kind in _SOURCES if fields.get(kind) is not None and (kind != FORMAT or not fields.has(FILES))]
    if len(chosen) != 1:
        problems.add(
            fields.at, f"{fields.owner} must have exactly one of {', '.join(_SOURCES)}: format goes with files, too."
        )
    kind = chosen[0] if chosen else FILES
    if kind == FILES and fields.has(FILES) and fields.text(FORMAT) is None:
        problems.add(fields.at, f"{fields.owner} needs format: how Spark reads its files, such as json or parquet.")
    where = fields.texts(kind)
    if kind == JDBC:
        where = tuple(fields.filled(text, fields.line(kind)) for text in where)
    if kind != FILES and len(where) > 1:
        fields.wrong(kind, f"{kind} must be one text.")
    _check_stream(fields, kind)
    return PipelineSource(
        name,
        kind,
        where,
        fields.line(kind) if chosen else fields.at,
        format=fields.text(FORMAT),
        options=fields.options("options"),
        arguments=fields.arguments("with"),
        schema=fields.text("schema"),
        incremental=fields.flag("incremental", True) and kind in (FILES, TABLE, STREAM),
        expect=_expectations(fields),
        into=fields.text("into"),
        checkpoint=fields.text("checkpoint"),
    )


def _check_stream(fields: Fields, kind: str) -> None:
    if kind == STREAM:
        fields.require("into", "the table that its rows are taken over into, such as lake.raw.clicks, or a path")
        if fields.has("incremental"):
            fields.wrong("incremental", "a stream is always read part by part. Read its table whole in another source.")
        return
    for key in _OF_STREAMS:
        if fields.has(key):
            fields.wrong(key, f"{key} is for a {STREAM}.")


def read_transform(name: str, value: Value, steps: list[str], problems: Problems) -> Transform:
    fields = Fields(f"The transform {name!r}", value, _TRANSFORM_KEYS, problems)
    chosen = [kind for kind in _TRANSFORMS if fields.get(kind) is not None]
    if len(chosen) != 1:
        problems.add(fields.at, f"{fields.owner} must have exactly one of {', '.join(_TRANSFORMS)}.")
    kind = chosen[0] if chosen else SQL
    body = fields.text(kind) or ""
    inputs = fields.texts("inputs")
    if not inputs and kind == SQL:
        inputs = tuple(step for step in model.names_in(body, steps) if step != name)
    if chosen and not inputs:
        mentioned = "mentions none of the steps" if kind == SQL else "needs inputs"
        problems.add(fields.line(kind), f"{fields.owner} {mentioned}. There are: {', '.join(steps)}.", "missing input")
    if kind == BATCHES:
        fields.require("schema", "the columns that its function answers, such as id BIGINT, text STRING")
        if len(inputs) > 1:
            fields.wrong("inputs", "a function of batches has one input.")
    if kind == PYTHON and fields.has("schema"):
        fields.wrong("schema", "the function's data frame has a schema of its own.")
    return Transform(
        name,
        kind,
        body,
        inputs,
        fields.line("inputs") if fields.has("inputs") else fields.line(kind),
        fields.first(kind),
        fields.arguments("with"),
        fields.text("schema"),
        _expectations(fields),
    )


def _expectations(step: Fields) -> tuple[Expectation, ...]:
    rules = [_expectation(step, number, value) for number, value in enumerate(step.items("expect"), 1)]
    tables = {rule.into for rule in rules if rule.into}
    if len(tables) > 1:
        step.wrong("expect", f"rows that are put aside go into one table, but {', '.join(sorted(tables))} are named.")
    names: set[str] = set()
    for rule in rules:
        if rule.name in names:
            step.problems.add(rule.line, f"{step.owner} has two expectations named {rule.name!r}.")
        names.add(rule.name)
    return tuple(rules)


def _expectation(step: Fields, number: int, value: Value) -> Expectation:
    fields = step.part(f"Expectation {number}", value, _EXPECTATION_KEYS)
    fields.require("that", "what must hold of each row, as SQL")
    otherwise = fields.choice("otherwise", (DROP, FAIL, QUARANTINE), FAIL)
    into = fields.text("into")
    if otherwise == QUARANTINE:
        fields.require("into", "the table for rows that are put aside")
    elif into is not None:
        fields.wrong("into", f"only otherwise: {QUARANTINE} puts rows into a table.")
    that = fields.text("that") or ""
    return Expectation(fields.text("name") or that, that, otherwise, into, fields.line("that"))


_ON_LOST = "on_lost_output"
_OUTPUT_KEYS = (
    "from",
    "table",
    "mode",
    "keys",
    "schema",
    "vectors",
    "indices",
    "tags",
    "publish",
    "retention",
    _ON_LOST,
)
_INDEX_KEYS = ("column", "type", "name", "options")
_RETENTION_KEYS = ("versions", "days")


def read_output(name: str, value: Value, problems: Problems) -> PipelineOutput:
    fields = Fields(f"The output {name!r}", value, _OUTPUT_KEYS, problems)
    fields.require("from", "the step whose rows are written")
    fields.require("table", "the table, such as lake.sales.orders, or a path")
    keys = fields.texts("keys")
    mode = fields.choice("mode", (APPEND, OVERWRITE, MERGE), MERGE if keys else APPEND)
    if mode == MERGE and not keys:
        fields.wrong("mode", "merge needs keys, the columns that rows are matched by.")
    if mode == APPEND and keys:
        fields.wrong("mode", "append knows no keys. Leave one of the two out: with keys, rows are merged.")
    return PipelineOutput(
        name,
        fields.text("from") or "",
        fields.text("table") or "",
        mode,
        fields.line("from"),
        {key: fields.line(key) for key in _OUTPUT_KEYS if fields.has(key)},
        keys,
        _schema(fields),
        _vectors(fields),
        tuple(_index(fields, value) for value in fields.items("indices")),
        fields.texts("tags"),
        fields.texts("publish"),
        _retention(fields),
        fields.choice(_ON_LOST, (REBUILD, FAIL), REBUILD) if fields.get(_ON_LOST) is not None else None,
    )


def _schema(fields: Fields) -> str | None:
    """Return columns and their types as Spark writes them; the file may have a mapping in place of the text."""
    value = fields.get("schema")
    if value is None or not isinstance(value.data, dict):
        return fields.text("schema")
    return ", ".join(f"`{column}` {type_.data}" for column, type_ in value.data.items())


def _vectors(fields: Fields) -> Mapping[str, int]:
    sizes = {column: value.data for column, value in fields.mapping("vectors").items()}
    for column, size in sizes.items():
        if type(size) is not int or size < 1:
            fields.wrong("vectors", f"the vector {column!r} must have its size, a whole number, but has {size!r}.")
    return sizes


def _index(output: Fields, value: Value) -> Index:
    fields = output.part("An index", value, _INDEX_KEYS)
    fields.require("column", "what it is for")
    fields.require("type", "such as BTREE, FTS or IVF_FLAT")
    column, type_ = fields.text("column") or "", fields.text("type") or ""
    return Index(column, type_, fields.text("name") or f"{column}_idx", fields.arguments("options"), fields.at)


def _retention(output: Fields) -> Retention | None:
    value = output.get("retention")
    if value is None:
        return None
    fields = output.part("The retention", value, _RETENTION_KEYS)
    versions, days = fields.number("versions"), fields.number("days", 0)
    if not fields.has("versions") and not fields.has("days"):
        output.wrong("retention", "retention needs versions, how many are kept, or days, how long.")
    return Retention(versions, days, output.line("retention"))


_KEYS = ("pipeline", "description", "together", _ON_LOST, "sources", "transforms", "outputs")
# Names become those of temporary views.
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def load(file: str | Path) -> Pipeline:
    """Return the pipeline that a file describes.

    Raise InvalidPipelineError with every problem that can be found without asking a catalog, and InvalidInputError if
    the file cannot be read.
    """
    path = Path(file)
    problems = Problems(path)
    pipeline = _pipeline(path, problems)
    problems.raise_if_any()
    assert pipeline is not None, "it is None only where there is a problem"
    return pipeline


def _pipeline(path: Path, problems: Problems) -> Pipeline | None:
    value = yaml.parse(yaml.read(path), problems)
    if value is None:
        return None
    document = Fields("The pipeline", value, _KEYS, problems)
    document.require("pipeline", "the name under which its runs are kept")
    document.require("outputs", "the tables that it writes")
    sources = {name: read_source(name, value, problems) for name, value in _named(document, "sources")}
    names = [*sources, *document.mapping("transforms")]
    transforms = {name: read_transform(name, value, names, problems) for name, value in _named(document, "transforms")}
    outputs = {name: read_output(name, value, problems) for name, value in _named(document, "outputs")}
    name, description = document.text("pipeline"), document.text("description")
    together, on_lost = document.flag("together", False), document.choice(_ON_LOST, (REBUILD, FAIL), REBUILD)
    _check_names(problems, sources, transforms, outputs)
    _check_inputs(problems, sources, transforms, outputs)
    if problems.wrong:
        return None
    pipeline = Pipeline(
        name or "",
        path,
        sources,
        transforms,
        outputs,
        together,
        description,
        on_lost_output=on_lost,
    )
    _note(pipeline, problems)
    return replace(pipeline, notes=tuple(problem for problem in problems.reported if not problem.wrong))


def _named(document: Fields, key: str) -> Iterator[tuple[str, Value]]:
    for name, value in document.mapping(key).items():
        if not _NAME.fullmatch(name):
            document.problems.add(
                value.line, f"{name!r} cannot be a name here: use letters, digits and _, and begin with no digit."
            )
        yield name, value


def _check_names(
    problems: Problems,
    sources: Mapping[str, PipelineSource],
    transforms: Mapping[str, Transform],
    outputs: Mapping[str, PipelineOutput],
) -> None:
    lines: dict[str, int] = {}
    nodes: list[Node] = [*sources.values(), *transforms.values(), *outputs.values()]
    for node in nodes:
        if node.name in lines:
            problems.add(node.line, f"The name {node.name!r} was given in line {lines[node.name]} already.")
        lines.setdefault(node.name, node.line)


def _check_inputs(
    problems: Problems,
    sources: Mapping[str, PipelineSource],
    transforms: Mapping[str, Transform],
    outputs: Mapping[str, PipelineOutput],
) -> None:
    steps = [*sources, *transforms]
    readers: list[Transform | PipelineOutput] = [*transforms.values(), *outputs.values()]
    for node in readers:
        for name in node.inputs:
            if name and name not in steps:
                problems.add(node.line, _missing(node.name, name, steps, outputs), "missing input")
    inputs = {name: tuple(step for step in node.inputs if step in steps) for name, node in transforms.items()}
    circle = model.cycle(inputs)
    if circle is not None:
        problems.add(transforms[circle[0]].line, f"These need one another: {' → '.join(circle)}.", "cycle")


def _missing(step: str, name: str, steps: list[str], outputs: Mapping[str, PipelineOutput]) -> str:
    if name in outputs:
        return f"{step!r} reads {name!r}, which is an output. Read what that is made from: {outputs[name].source}."
    return unknown(f"{step!r} reads {name!r}, but the pipeline", steps, name, "step")


def _note(pipeline: Pipeline, problems: Problems) -> None:
    """Warn of what is allowed, but more often a mistake than meant."""
    for node in pipeline.steps.values():
        if not model.consumers(pipeline, node.name):
            problems.warn(node.line, f"Nothing reads {node.name!r}, so it is not computed.")
    for transform in pipeline.transforms.values():
        sources = model.sources_of(pipeline, transform.name)
        new = [source.name for source in sources if source.incremental and source.has_versions]
        if len(transform.inputs) > 1 and len(new) > 1:
            problems.warn(
                transform.line,
                f"{transform.name!r} brings {' and '.join(new)} together, and of each it sees only what is new. Set "
                "incremental to false for a source in which rows of the others are looked up.",
            )
    for output in pipeline.outputs.values():
        sources = model.sources_of(pipeline, output.name)
        if output.mode == APPEND and sources and not any(source.has_versions for source in sources):
            names = ", ".join(source.name for source in sources)
            problems.warn(
                output.line,
                f"{names} is read whole by each run, and its rows are added to {output.table} each time. Give keys, or "
                f"mode: {OVERWRITE}.",
            )
