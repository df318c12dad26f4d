"""Shallow clones: tables that share the files of another one. A lake makes them, and so does all that leads to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lance_namespace import DescribeTableResponse, LanceNamespace

from lanceway.catalogs.contract.schemas import Path
from lanceway.errors import UnsupportedOperationError


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """What is asked for: the table `id`, as a clone of a version of `source`."""

    source: list[str]
    id: list[str]
    version: int | None = None
    tag: str | None = None
    branch: str | None = None


@runtime_checkable
class ClonesTables(Protocol):
    """A catalog that makes shallow clones."""

    def clone_table(
        self,
        source: Path,
        target: Path,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
    ) -> DescribeTableResponse: ...


def require(catalog: LanceNamespace) -> ClonesTables:
    """Return a catalog that makes clones. Raises UnsupportedOperationError."""
    if not isinstance(catalog, ClonesTables):
        raise UnsupportedOperationError(
            f"{catalog!r} makes no clones of tables: only a lake, and what leads to one, keeps the files that clones "
            "share. Copy the rows into a new table."
        )
    return catalog
