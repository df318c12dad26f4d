"""Events of a run. Each is recorded in one transaction, and recording it again changes nothing more.

They are recorded in the database itself, or over a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from lanceway.lake.runs.limits import Count, Key, Place, Words
from lanceway.lake.runs.runs import Read, StepRow
from lanceway.lake.runs.source_files import File

Graph = Mapping[str, Any]


class Changes(Struct, frozen=True, omit_defaults=True):
    """Values of a step that change. Those left out stay as they are."""

    base: Count | UnsetType | None = UNSET
    table_name: Words | UnsetType | None = UNSET
    location: Place | UnsetType | None = UNSET
    version: Count | UnsetType | None = UNSET
    rows: Count | UnsetType | None = UNSET
    bytes: Count | UnsetType | None = UNSET
    details: Mapping[str, Any] | UnsetType = UNSET
    error: Words | UnsetType | None = UNSET

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, value in structs.asdict(self).items() if value is not UNSET}


class Begin(Struct, frozen=True, tag_field="record", tag="begin"):
    """A new run begins."""

    full: bool
    graph: Graph


class Resume(Struct, frozen=True, tag_field="record", tag="resume"):
    """A run goes on; `attempts` is this attempt's number."""

    attempts: Annotated[int, Meta(ge=1, le=2**31)]
    graph: Graph


class End(Struct, frozen=True, tag_field="record", tag="end"):
    """A run is over, for now or for ever."""

    state: Literal["done", "failed", "stopped", "given up"]
    error: Words | None = None


class Pin(Struct, frozen=True, tag_field="record", tag="pin"):
    """The versions that a run reads of each source, and the files that it has found."""

    pins: Mapping[Key, Mapping[str, Any]]
    files: Mapping[Key, Sequence[File]]


class PlannedSteps(Struct, frozen=True, tag_field="record", tag="plan"):
    """The steps that a run will take."""

    steps: Sequence[StepRow]


class BeginStep(Struct, frozen=True, tag_field="record", tag="begin step"):
    """A step begins."""

    step: Key
    changes: Changes


class EndStep(Struct, frozen=True, tag_field="record", tag="end step"):
    """A step is over, with what it read."""

    step: Key
    state: Literal["done", "failed", "skipped"]
    changes: Changes
    reads: Sequence[Read] = ()


Record = Begin | Resume | End | Pin | PlannedSteps | BeginStep | EndStep
