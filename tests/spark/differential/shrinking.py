"""Shrink a case in which two things differ that should not, by taking simpler ones for as long as they differ too.

Hypothesis would make every example from the beginning. Here tables are most of the time: many queries share them, and a
query is made simple on tables that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, Self, TypeVar


class Shrinking(Protocol):
    def simpler(self) -> Iterable[Self]:
        """Yield cases that are simpler in one way each. They need not make sense: such a case does not differ."""
        ...


Case = TypeVar("Case", bound=Shrinking)


def shrink(case: Case, differs: Callable[[Case], bool], attempts: int) -> Case:
    """Return a case that differs and of which no simpler one does, or the best that so many attempts have found."""
    left, progress = attempts, True
    while progress:
        progress = False
        for smaller in case.simpler():
            if left == 0:
                return case
            left -= 1
            if differs(smaller):
                case, progress = smaller, True
                break
    return case
