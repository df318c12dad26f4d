"""Tables that a pipeline writes: each write is one version, and carries the name of its run and step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from lanceway.errors import LanceNamespaceError, NamespaceNotFoundError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.register import Registrar
from lanceway.pipelines import atomic_outputs, two_phase_write
from lanceway.pipelines.atomic_outputs import Gathered
from lanceway.pipelines.file.problems import at
from lanceway.pipelines.model import MERGE, OVERWRITE, Output
from lanceway.pipelines.runs.failures import said
from lanceway.spark.types import arrow_schema
from lanceway.spark.write.merge import merge
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.writes import destination, plan, write_id
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lanceway.writes.table_ref import Target


@dataclass(frozen=True, slots=True)
class Committed:
    """A version that a step has made."""

    version: int
    rows: int
    bytes: int


def version_of(target: Target) -> int:
    """The table's latest version; 0 where there is no table, or only its name."""
    try:
        found = destination.find(target)
    except NamespaceNotFoundError:
        return 0
    return int(dataset.open_at(found.reading).version) if found is not None and found.has_data() else 0


def committed(target: Target, job: str, *, after: int) -> Committed | None:
    """What was committed under a name since a version; None if nothing was."""
    if version_of(target) <= after:
        return None
    table = target.table()
    version = write_id.version_of(table, Mark(job=job), after=after)
    if version is None:
        return None
    with translated(table, f"Reading the transaction of version {version}"):
        transaction = dataset.open_at(table).read_transaction(version)
    operation: Any = None if transaction is None else transaction.operation
    new = list(getattr(operation, "new_fragments", None) or getattr(operation, "fragments", None) or ())
    size = sum(file.file_size_bytes or 0 for fragment in new for file in fragment.files)
    return Committed(version, sum(fragment.physical_rows for fragment in new), size)


def fitted(file: Path, output: Output, frame: DataFrame, target: Target, *, replaces: bool) -> DataFrame:
    """The rows as the output's schema wants them, and as its table can take them: told before anything is written."""
    from pyspark.errors import AnalysisException, ParseException

    if output.schema is not None:
        try:
            frame = _declared(file, output, frame)
        except (AnalysisException, ParseException) as error:
            raise at(file, output.line_of("schema"), f"The output {output.name!r}: {said(error)}") from error
    for key in output.keys:
        if key not in frame.columns:
            raise at(
                file,
                output.line_of("keys"),
                f"The output {output.name!r} has no column {key!r} for a key: {', '.join(frame.columns)}.",
            )
    for column in output.vectors:
        if column not in frame.columns:
            raise at(file, output.line_of("vectors"), f"The output {output.name!r} has no column {column!r}.")
    if not replaces and version_of(target):
        try:
            plan.require_fit(target, arrow_schema(frame.schema.toNullable()), target.open().schema)
        except LanceNamespaceError as error:
            raise at(file, output.line_of("table"), f"The output {output.name!r}: {error}") from error
    return frame


def _declared(file: Path, output: Output, frame: DataFrame) -> DataFrame:
    from pyspark.sql.types import StructType

    wanted = StructType.fromDDL(str(output.schema))
    assert isinstance(wanted, StructType)
    more = [name for name in frame.columns if name not in wanted.names]
    if more:
        raise at(
            file,
            output.line_of("schema"),
            f"The output {output.name!r} has the column {more[0]!r}, which its schema does not have.",
        )
    return frame.to(wanted)


class Rooms:
    """Namespaces above tables that are about to be made, for all that a run writes at the same time.

    At its end, those are gone that were made for nothing.
    """

    def __init__(self) -> None:
        self._made: dict[int, Registrar] = {}
        self._lock = Lock()
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.close()

    @contextmanager
    def above(self, target: Target) -> Iterator[None]:
        if target.type is None:
            yield
            return
        table, registrar = Identifier(target.id), self._registrar(target)
        registrar.make_room(table, original=table)
        yield
        registrar.filled(table)

    def _registrar(self, target: Target) -> Registrar:
        catalog = target.catalog()
        with self._lock:
            if id(catalog) not in self._made:
                self._made[id(catalog)] = self._leaving.enter_context(Registrar(catalog))
            return self._made[id(catalog)]


def write(
    spark: SparkSession, frame: DataFrame, output: Output, target: Target, rooms: Rooms, *, mode: str, job: str
) -> None:
    """Write rows, in one version or none. Namespaces above a new table are made."""
    with rooms.above(target):
        if mode == MERGE and version_of(target):
            if isinstance(target, Gathered):
                atomic_outputs.require_managed(target, managed=target.table().client is not None)
            merge(
                spark,
                frame,
                target,
                on=output.keys,
                when_matched_update=True,
                when_not_matched_insert=True,
                job=job,
            )
            return
        options: dict[str, str] = {}
        if output.vectors and not version_of(target):
            options["vector_columns"] = json.dumps(dict(output.vectors))
        two_phase_write.write(spark, frame, target, options, unique=output.keys, overwrite=mode == OVERWRITE, job=job)
