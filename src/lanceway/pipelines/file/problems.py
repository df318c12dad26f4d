"""What is wrong with a pipeline's file, and in which line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lanceway.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing. What is not `wrong` is only worth knowing."""

    where: str
    message: str
    kind: str = "error"
    wrong: bool = True

    def as_record(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class InvalidPipelineError(InvalidInputError):
    """A file that describes no pipeline that could run; `problems` has every reason."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(map(str, problems)))


def at(file: Path, line: int, message: str) -> InvalidPipelineError:
    """One problem, to be raised."""
    return InvalidPipelineError([Problem(f"{file}:{line}", message)])


@dataclass
class Problems:
    """Collects what is wrong with one file, so that all of it is told at once."""

    file: Path
    found: list[Problem] = field(default_factory=list)

    def add(self, line: int, message: str, kind: str = "error") -> None:
        self.found.append(Problem(f"{self.file}:{line}", message, kind))

    def warn(self, line: int, message: str) -> None:
        self.found.append(Problem(f"{self.file}:{line}", message, "note", wrong=False))

    @property
    def wrong(self) -> list[Problem]:
        """What keeps the pipeline from running, in the order of the lines."""
        found = [problem for problem in self.found if problem.wrong]
        return sorted(found, key=lambda problem: int(problem.where.rpartition(":")[2]))

    def raise_if_any(self) -> None:
        if self.wrong:
            raise InvalidPipelineError(self.wrong)
