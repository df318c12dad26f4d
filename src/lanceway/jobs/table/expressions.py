"""What fills a column that is there, besides a function of one's own: SQL, or one of a function's several columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.jobs.table.functions import Computes, Function

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Expression(Function):
    """An SQL expression of Lance, which Lance itself evaluates while it reads."""

    @property
    def name(self) -> str:
        return f"the expression {self.given}"

    def fingerprint(self) -> str:
        return hashlib.sha256(f"SQL\n{self.given}".encode()).hexdigest()[:24]

    def columns(self, names: list[str], column: str) -> list[str] | dict[str, str]:
        return {column: str(self.given)}

    def found(self) -> Computes:
        return _first


def _first(batch: pa.RecordBatch) -> Any:
    return batch.column(0)


@dataclass(frozen=True)
class Picked(Function):
    """A function that answers several columns, of which one is taken; or that one alone."""

    field: str = ""

    def fingerprint(self) -> str:
        return f"{Function(self.given, self.folder).fingerprint()}:{self.field}"

    def found(self) -> Computes:
        return _Picking(super().found(), self.field)


@dataclass(frozen=True)
class _Picking:
    function: Computes
    field: str

    def __call__(self, batch: pa.RecordBatch) -> Any:
        import pyarrow as pa

        answer = self.function(batch)
        if isinstance(answer, pa.RecordBatch | pa.Table) and self.field in answer.schema.names:
            return answer.column(self.field)
        if isinstance(answer, pa.StructArray):
            return answer.field(self.field)
        return answer[self.field] if isinstance(answer, dict) else answer
