"""The audit of requests: each change before it is made and after, and each denial."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from lanceway.access.records.audit import AuditTrail, object_path, plain
from lanceway.errors import LanceNamespaceError, PermissionDeniedError
from lanceway.lake.access.audit import ATTEMPTED, DENIED, DONE, FAILED, AuditEvent
from lanceway.server.http import log
from lanceway.server.http.middleware import principal_of

_MOST_OBJECTS = 1_000


class Auditor:
    """Records the requests of one door of the server, such as a dialect. Without a trail it records nothing."""

    def __init__(self, trail: AuditTrail | None, via: str) -> None:
        self._trail, self._via = trail, via

    @asynccontextmanager
    async def change(self, scope: Any, operation: str, objects: Iterable[str]) -> AsyncIterator[None]:
        """Record a change before the block, which makes it, and how it ended. A denial is left to `deny`.

        Raises ServiceUnavailableError, before anything is changed, if the trail cannot be written.
        """
        if self._trail is None:
            yield
            return
        events = self._events(scope, operation, objects)
        await asyncio.gather(*(asyncio.wrap_future(self._trail.record(event)) for event in events))
        try:
            yield
        except PermissionDeniedError:
            raise
        except LanceNamespaceError as error:
            self._end(events, FAILED, int(error.code), str(error))
            raise
        except BaseException as error:
            # It may have changed something. What it says is for the server's log alone.
            self._end(events, FAILED, None, type(error).__name__)
            raise
        self._end(events, DONE)

    def deny(self, scope: Any, operation: str, objects: Iterable[str], error: PermissionDeniedError) -> None:
        """Record that a request was refused, and why."""
        if self._trail is not None:
            self._end(self._events(scope, operation, objects), DENIED, int(error.code), str(error))

    def _end(self, events: Iterable[AuditEvent], outcome: str, code: int | None = None, reason: str = "") -> None:
        assert self._trail is not None
        text = plain(reason) or None
        for event in events:
            # Not waited for: the trail logs what it cannot write.
            self._trail.record(replace(event, outcome=outcome, code=code, reason=text), urgent=False)

    def _events(self, scope: Any, operation: str, objects: Iterable[str]) -> list[AuditEvent]:
        """Return the event of an attempt, one for each object that the request names."""
        client = scope.get("client")
        event = AuditEvent(
            request_id=log.of(scope).request_id,
            user=principal_of(scope).name,
            via=self._via,
            operation=operation,
            object=None,
            outcome=ATTEMPTED,
            client=client[0] if client else None,
            agent=_agent(scope["headers"]),
        )
        paths = list(dict.fromkeys(objects))[:_MOST_OBJECTS]
        return [replace(event, object=path) for path in paths] or [event]


def objects_of(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the path of every object that a request of Lance REST names: its own, a batch's, the target of a rename."""
    names = _path(request.get("id"))
    if names is not None:
        yield object_path(names)
    if isinstance(request.get("new_table_name"), str):
        parent = _path(request.get("new_namespace_id")) or (names or [])[:-1]
        yield object_path([*parent, request["new_table_name"]])
    for field in ("entries", "operations"):
        entries = request.get(field)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping):
                yield from objects_of(entry)
                for inner in entry.values():
                    if isinstance(inner, Mapping):
                        yield from objects_of(inner)


def _path(value: object) -> list[str] | None:
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else None


def _agent(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    return next((plain(value.decode("latin-1")) for name, value in headers if name == b"user-agent"), None)
