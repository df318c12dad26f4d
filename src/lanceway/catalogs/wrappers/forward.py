"""A catalog around a catalog: everything is handed on, and a subclass changes one thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from lance_namespace import LanceNamespace, QueryTableRequest
from pydantic import BaseModel

from lanceway.catalogs.contract import jobs
from lanceway.catalogs.contract.jobs import Job
from lanceway.catalogs.contract.operations import REQUESTS, WITH_DATA, stream_twin
from lanceway.catalogs.contract.requests import accept
from lanceway.errors import UnsupportedOperationError
from lanceway.tables.read import ipc

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceway.catalogs.contract.job_queue import JobQueue
    from lanceway.catalogs.contract.lazy_job_queue import LazyJobQueue


class Forwarder(LanceNamespace):
    """Sends every operation of the contract, and the twins that stream, through `_forward`."""

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Carry one operation out; `carry_out` does it on a catalog. A subclass overrides this."""
        raise NotImplementedError

    def query_table_stream(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        reader: pa.RecordBatchReader = self._forward("query_table_stream", accept(QueryTableRequest, request))
        return reader


class Wrapper(Forwarder):
    """Hands every operation on to one catalog."""

    def __init__(self, inner: LanceNamespace) -> None:
        self._inner = inner

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Carry one operation out on the catalog inside. A subclass overrides this."""
        return carry_out(self._inner, operation, request, *data)

    # -- background jobs -------------------------------------------------------------------------

    def list_jobs(self, *, table: Sequence[str] | None = None, **asked: Any) -> tuple[list[Job], str | None]:
        """Background jobs, as the catalog inside tells of them."""
        names = None if table is None else self._inside(list(table))
        found, token = _of_jobs(self._inner, "list_jobs")(table=names, **asked)
        return [self._job(job) for job in found if self._holds(job.table)], token

    def describe_job(self, job_id: str) -> Job:
        """How a background job is. Raises InvalidInputError where there is none of this id."""
        return self._job(_of_jobs(self._inner, "describe_job")(job_id))

    def cancel_job(self, job_id: str) -> Job:
        """End a background job: at once if it waits, soon if it runs."""
        return self._job(_of_jobs(self._inner, "cancel_job")(job_id))

    def wait_for_job(self, job_id: str, timeout: float | None = None) -> Job:
        """The job once it has ended, whatever it came to; or as it is after `timeout` seconds."""
        return jobs.wait(self.describe_job, job_id, timeout)

    def _job(self, job: Job) -> Job:
        return replace(job, table=self._outside(job.table)) if self._holds(job.table) else job

    def _holds(self, names: list[str]) -> bool:
        """Whether something of the catalog inside is to be seen from here."""
        return True

    def _inside(self, names: list[str] | None) -> list[str]:
        """An identifier as the catalog inside has it."""
        return list(names or ())

    def _outside(self, names: list[str]) -> list[str]:
        """An identifier of the catalog inside as it is here."""
        return names

    def namespace_id(self) -> str:
        return self._inner.namespace_id()

    def close(self) -> None:
        """Close the catalog inside, where it can be closed."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r})"


def _of_jobs(catalog: LanceNamespace, method: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(catalog, method, None)
    if found is None:
        raise UnsupportedOperationError(f"{catalog!r} does not support {method}: it keeps no background jobs.")
    return found


def carry_out(catalog: LanceNamespace, operation: str, request: BaseModel, *data: Any) -> Any:
    """One operation, or a twin that streams, on any catalog: one without the twin gives and takes bytes."""
    method = getattr(catalog, operation, None)
    if method is not None:
        return method(request, *data)
    plain = getattr(catalog, operation.removesuffix(stream_twin("")))
    if data:
        return plain(request, b"".join(ipc.stream_chunks(data[0], file_format=False)))
    return ipc.read(plain(request).data)


def acting_as(catalog: LanceNamespace, user: str) -> LanceNamespace:
    """The catalog as another user has it, where it keeps track of who acts; else the catalog itself."""
    change: Callable[[str], LanceNamespace] | None = getattr(catalog, "acting_as", None)
    return catalog if change is None else change(user)


def with_desk(catalog: LanceNamespace, desk: JobQueue | LazyJobQueue) -> LanceNamespace:
    """The catalog with its background jobs recorded elsewhere, where it can have any; else the catalog itself."""
    change: Callable[[JobQueue | LazyJobQueue], LanceNamespace] | None = getattr(catalog, "with_desk", None)
    return catalog if change is None else change(desk)


def _plain(operation: str, model: type[BaseModel]) -> Callable[..., Any]:
    def method(self: Forwarder, request: Any) -> Any:
        return self._forward(operation, accept(model, request))

    return method


def _with_data(operation: str, model: type[BaseModel]) -> Callable[..., Any]:
    def method(self: Forwarder, request: Any, request_data: bytes) -> Any:
        return self._forward(operation, accept(model, request), request_data)

    return method


def _streaming(operation: str, model: type[BaseModel]) -> Callable[..., Any]:
    twin = stream_twin(operation)

    def method(self: Forwarder, request: Any, data: pa.RecordBatchReader) -> Any:
        return self._forward(twin, accept(model, request), data)

    return method


def _define(name: str, method: Callable[..., Any]) -> None:
    method.__name__, method.__qualname__ = name, f"Forwarder.{name}"
    setattr(Forwarder, name, method)


for _operation, _model in REQUESTS.items():
    if _operation in WITH_DATA:
        _define(_operation, _with_data(_operation, _model))
        _define(stream_twin(_operation), _streaming(_operation, _model))
    else:
        _define(_operation, _plain(_operation, _model))
