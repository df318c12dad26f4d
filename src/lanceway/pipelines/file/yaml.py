"""YAML with the line of every value, and the problems of a pipeline's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a file and where it is; one that is not `wrong` is only a note."""

    where: str
    message: str
    kind: str = "error"
    wrong: bool = True

    def as_record(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class InvalidPipelineError(InvalidInputError):
    """The file describes no pipeline that could run; `problems` has every reason."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(map(str, problems)))


def problem_at(file: Path, line: int, message: str) -> InvalidPipelineError:
    """Return an error with one problem and its line, to be raised."""
    return InvalidPipelineError([Problem(f"{file}:{line}", message)])


@dataclass
class Problems:
    """Collects the problems of one file, so that all are reported at once."""

    file: Path
    reported: list[Problem] = field(default_factory=list)

    def add(self, line: int, message: str, kind: str = "error") -> None:
        self.reported.append(Problem(f"{self.file}:{line}", message, kind))

    def warn(self, line: int, message: str) -> None:
        self.reported.append(Problem(f"{self.file}:{line}", message, "note", wrong=False))

    @property
    def wrong(self) -> list[Problem]:
        """Return the problems that keep the pipeline from running, in the order of their lines."""
        errors = [problem for problem in self.reported if problem.wrong]
        return sorted(errors, key=lambda problem: int(problem.where.rpartition(":")[2]))

    def raise_if_any(self) -> None:
        if self.wrong:
            raise InvalidPipelineError(self.wrong)


_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_NESTED = 50  # levels


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, a list of values, or a mapping of values by their keys. Lines count from 1."""

    data: Any
    line: int
    # The lines that a mapping's keys stand in, and the first line of a text that goes over several.
    lines: Mapping[str, int] = field(default_factory=dict)
    first: int = 0

    @property
    def kind(self) -> str:
        if isinstance(self.data, str):
            return "a text" if self.data.strip() else "empty"
        kinds = {dict: "a mapping", list: "a list", bool: "true or false", type(None): "empty"}
        return kinds.get(type(self.data), f"the number {self.data}")

    def plain(self) -> Any:
        """Return the value as plain data, without lines."""
        if isinstance(self.data, dict):
            return {key: value.plain() for key, value in self.data.items()}
        if isinstance(self.data, list):
            return [value.plain() for value in self.data]
        return self.data


def read(file: Path) -> str:
    """Return the text of a file. Raise InvalidInputError if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"The pipeline {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"The pipeline {file} is not text in UTF-8. Save it as such.") from error


def parse(text: str, problems: Problems) -> Value | None:
    """Return the content of a YAML text; if it is not YAML, add a problem and return None."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise InvalidInputError("Pipelines need PyYAML. Install it with: pip install 'lanceway[spark]'.") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.add(mark.line + 1 if mark else 1, f"This is not YAML: {error.problem or error.context}.", "YAML")
        return None
    except yaml.YAMLError as error:
        problems.add(1, f"This is not YAML: {' '.join(str(error).split())}.", "YAML")
        return None
    if node is None:
        problems.add(1, "The file is empty. Begin with: pipeline: NAME", "YAML")
        return None
    return _value(node, problems, 0)


def _value(node: Node, problems: Problems, depth: int) -> Value:
    from yaml import MappingNode, ScalarNode, SequenceNode

    line = node.start_mark.line + 1
    if depth > _NESTED:  # an alias of what it stands in would go on for ever
        problems.add(line, f"Values are nested more than {_NESTED} levels deep.", "YAML")
        return Value(None, line)
    if isinstance(node, MappingNode):
        return _mapping(node, problems, depth)
    if isinstance(node, SequenceNode):
        return Value([_value(item, problems, depth + 1) for item in node.value], line)
    assert isinstance(node, ScalarNode)
    return Value(_scalar(node, problems), line, first=line + (node.style in ("|", ">")))


def _mapping(node: MappingNode, problems: Problems, depth: int) -> Value:
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key, item in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name == "<<":
            problems.add(line, "Merging mappings with << is not known here. Write the keys out.", "YAML")
        elif name in values:
            problems.add(line, f"{name!r} was given in line {lines[name]} already.", "YAML")
        else:
            values[name], lines[name] = _value(item, problems, depth + 1), line
    return Value(values, node.start_mark.line + 1, lines)


def _scalar(node: Any, problems: Problems) -> object:
    import yaml

    if node.tag == _TIMESTAMP:
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.constructor.ConstructorError, ValueError):
        problems.add(node.start_mark.line + 1, f"{node.value!r} cannot be read as {node.tag}.", "YAML")
        return None
