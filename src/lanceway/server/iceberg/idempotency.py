"""Requests with an `Idempotency-Key`: carried out once, and answered the same again for as long as the key lives.

What is kept is an answer of success, and a refusal that would be the same again. What may be allowed later is
forgotten, and what has no known end can be asked again. An answer is kept without credentials: who asks again gets
others.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableNotFoundError,
)
from lanceway.lake import idempotency
from lanceway.lake.idempotency import KeptAnswer, KeyStanding, RequestKey
from lanceway.lake.store.database import LakeStore
from lanceway.server.iceberg.calls import NO_CONTENT
from lanceway.server.iceberg.configuration import KEY_SECONDS
from lanceway.server.iceberg.envelope import (
    COMMITS,
    CommitUnknownError,
    IcebergEnvelope,
    UnprocessableError,
)
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.server.threads import CatalogThreads, LateCallError

HEADER = "idempotency-key"
_LOG = logging.getLogger(__name__)
_GRACE_SECONDS = 300  # beyond what clients are told
_LEASE_SECONDS = 30  # beyond the longest time that a request may take
_PURGE_SECONDS = 600.0
_PURGED_AT_ONCE = 1000
_FEWEST_SERVER_ERROR = 500
# Refusals that say nothing about the request itself: it may be allowed, or fit, the next time.
_PASSING = frozenset({401, 403, 408, 413, 415, 419, 429, 499})
# Their answers are a table or a view that is there, and need not be kept where they are large.
_LOADED_AGAIN = frozenset(
    {"create_table", "register_table", "commit_table", "create_view", "register_view", "replace_view"}
)
# Dropped is dropped, whoever did it.
_DROPS = frozenset({"drop_table", "drop_view", "drop_namespace"})

CarryOut = Callable[[], Awaitable[EncodedAnswer]]


class IdempotencyKeys:
    """The keys of one server's requests, which all servers of a lake share."""

    def __init__(self, store: LakeStore, threads: CatalogThreads) -> None:
        self._store, self._threads = store, threads
        self._purging: asyncio.Task[None] | None = None

    async def once(
        self, request: RequestKey, operation: str, envelope: IcebergEnvelope, seconds: float, carry_out: CarryOut
    ) -> EncodedAnswer | KeptAnswer:
        """Carry a request out and keep its answer, or return the answer that was kept.

        Raises UnprocessableError for the key of another request, ServiceUnavailableError while another carries it out.
        """
        lease, lifetime = int((seconds + _LEASE_SECONDS) * 1000), (KEY_SECONDS + _GRACE_SECONDS) * 1000
        standing: KeyStanding
        kept: KeptAnswer | None
        standing, kept = await self._run(idempotency.begin, request, lease=lease, lifetime=lifetime)
        if standing is KeyStanding.OTHER:
            raise UnprocessableError(
                f"The Idempotency-Key {request.key} is that of another request. Send each with a key of its own."
            )
        if standing is KeyStanding.BUSY:
            raise ServiceUnavailableError(
                f"The request with the Idempotency-Key {request.key} is still being carried out. Ask again in a moment."
            )
        if kept is not None:
            return kept
        try:
            answer = await self._carried_out(operation, carry_out, again=standing is KeyStanding.TAKEN_OVER)
        except LateCallError:
            raise  # it still runs: the key is held until it must have ended
        except Exception as error:
            await self._end_refused(request, error, envelope)
            raise
        await self._settle(idempotency.finish, request, _kept(answer), whole=operation not in _LOADED_AGAIN)
        return answer

    @staticmethod
    async def _carried_out(operation: str, carry_out: CarryOut, *, again: bool) -> EncodedAnswer:
        """Carry a request out. Where another may have done so before, its traces are not taken for a conflict."""
        try:
            return await carry_out()
        except (NamespaceNotFoundError, TableNotFoundError):
            if not again or operation not in _DROPS:
                raise
            return NO_CONTENT
        except ConcurrentModificationError as error:
            if not again or operation not in COMMITS:
                raise
            raise CommitUnknownError(
                "The request was sent before with this Idempotency-Key, and how that ended is not known. Load the "
                "table to see whether the commit was made."
            ) from error

    async def _end_refused(self, request: RequestKey, error: Exception, envelope: IcebergEnvelope) -> None:
        status = envelope.status(error) if isinstance(error, LanceNamespaceError) else _FEWEST_SERVER_ERROR
        if status >= _FEWEST_SERVER_ERROR:
            await self._settle(idempotency.leave, request)
        elif status in _PASSING:
            await self._settle(idempotency.forget, request)
        else:
            assert isinstance(error, LanceNamespaceError)
            body = msgspec.json.encode(envelope.body(error, str(error), ""))
            await self._settle(idempotency.finish, request, KeptAnswer(status, {}, body))

    async def _settle(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Note how a request ended. Where that fails, its key is held for a while, and can be taken over then."""
        try:
            await self._run(function, *arguments, **options)
        except LanceNamespaceError as error:
            _LOG.warning("The end of a request with an Idempotency-Key could not be noted: %s", error)

    async def _run(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return await self._threads.run(None, lambda: self._store.transact(function, *arguments, **options))

    # -- old keys --------------------------------------------------------------------------------

    def keep_tidy(self) -> None:
        """Delete keys whose time is over from now on, now and then."""
        self._purging = asyncio.create_task(self._purge_again())

    async def close(self) -> None:
        if self._purging is not None:
            self._purging.cancel()
            with suppress(asyncio.CancelledError):
                await self._purging

    async def _purge_again(self) -> None:
        while True:
            with suppress(LanceNamespaceError):  # others write, or the database is away: the next time will do
                while await self._run(idempotency.purge, most=_PURGED_AT_ONCE) == _PURGED_AT_ONCE:
                    pass
            await asyncio.sleep(_PURGE_SECONDS)


def read_key(headers: Mapping[str, str], principal: str, parts: tuple[bytes, ...]) -> RequestKey | None:
    """Return the key of a request, if it was sent with one. `parts` tell the request from all others.

    Raises InvalidInputError for one that is no UUID.
    """
    text = headers.get(HEADER)
    if text is None:
        return None
    try:
        if len(text) != len(str(uuid.UUID(int=0))):
            raise ValueError("too short or too long")
        key = str(uuid.UUID(text))
    except ValueError as error:
        raise InvalidInputError(
            "The header Idempotency-Key must be a UUID of version 7, of 36 characters. Make a new one for each request."
        ) from error
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return RequestKey(principal, key, digest.hexdigest(), secrets.token_hex(16))


def _kept(answer: EncodedAnswer) -> KeptAnswer:
    headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
    plain: bytes = getattr(answer, "plain", answer.body)
    return KeptAnswer(answer.status, headers, plain)
