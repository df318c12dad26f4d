"""`/lanceway/v1/events`: what happened, in order, as far as the caller may see it.

    GET /lanceway/v1/events    ?after=ID, ?types=table,version.created, ?under=lake$team, ?wait=SECONDS

Each event is a CloudEvent of version 1.0. Its id is sealed like a page token, and is the position to go on from. Who
accepts the media type of CloudEvents' batches gets the events alone, and the rest of the page in headers.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from lanceway.access.records import feed
from lanceway.identifiers import Identifier
from lanceway.lake.feed import reading
from lanceway.lake.feed.reading import FeedFilter, FeedPosition
from lanceway.server.api.endpoints import LARGEST_NUMBER, LARGEST_PAGE, PAGE, Call, actor_of, endpoint
from lanceway.server.home import METALAKE
from lanceway.wire.lance import DELIMITER

LATEST = "latest"
LONGEST_WAIT = 30.0  # seconds
BATCH = "application/cloudevents-batch+json"
CURSOR, MORE = "lanceway-cursor", "lanceway-more"
_LOOK_SECONDS = 1.0  # how often a request that waits looks whether its client is still there
_PATH = "/events"


class CloudEvent(Struct):
    """Something that happened. `id` is also the position right behind it; `data` depends on the type."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    datacontenttype: str
    data: dict[str, Any]


class Events(Struct):
    """A page of events, which may be empty. `cursor` is where to go on, and `more` whether there is more already."""

    events: list[CloudEvent]
    cursor: str
    more: bool


class EventQuery(Struct):
    after: (
        Annotated[
            str,
            Meta(
                description="Where to continue: the id of an event, or `cursor` of the page before. `latest` for what "
                "comes from now on; without it, from the oldest event that is kept."
            ),
        ]
        | None
    ) = None
    limit: Annotated[
        int, Meta(ge=1, le=LARGEST_NUMBER, description=f"The most events on a page; never more than {LARGEST_PAGE}.")
    ] = PAGE
    types: (
        Annotated[str, Meta(description="Only these, with commas: `table.created`, or `table` for all about tables.")]
        | None
    ) = None
    under: (
        Annotated[str, Meta(description="Only this object and what is inside; the delimiter joins its names.")] | None
    ) = None
    delimiter: Annotated[str, Meta(description="What joins the names of an object; $ without it.")] | None = None
    wait: Annotated[
        float,
        Meta(
            ge=0, le=LARGEST_NUMBER, description=f"For how many seconds to wait for an event; {LONGEST_WAIT:g} at most."
        ),
    ] = 0.0


@endpoint("GET", _PATH, Events, other_media=(BATCH,))
async def list_events(call: Call, query: EventQuery) -> object:
    """List what happened, the oldest first; with `wait`, wait for the next event where there is none."""
    types = [text.strip() for text in (query.types or "").split(",") if text.strip()]
    under = Identifier.parse(query.under, query.delimiter or DELIMITER) if query.under else None
    wanted = FeedFilter.of(METALAKE, types, under)
    after, actor = await _position(call, query.after), actor_of(call)
    until = asyncio.get_running_loop().time() + min(query.wait, LONGEST_WAIT)
    while True:
        page = await call.run(feed.read_page, call.store, actor, wanted, after, min(query.limit, LARGEST_PAGE))
        if page.events or not page.is_end or not await _something_new(call, page.end, until):
            break
        after = page.end
    source = await call.run(feed.source_of, call.store)
    events = [feed.cloud_event(row, data, _sealed(call, row.position), source) for row, data in page.events]
    cursor = _sealed(call, page.end)
    if _wants_batch(call.request):
        headers = {CURSOR: cursor, MORE: "false" if page.is_end else "true"}
        return Response(msgspec.json.encode(events), headers=headers, media_type=BATCH)
    return {"events": events, "cursor": cursor, "more": not page.is_end}


async def _position(call: Call, after: str | None) -> FeedPosition | None:
    if not after:
        return None
    if after == LATEST:
        return await call.run(call.store.snapshot, reading.newest)
    return FeedPosition.parse(call.seal.open(_PATH, (), after))


async def _something_new(call: Call, beyond: FeedPosition, until: float) -> bool:
    """Wait for an event, visible to the caller or not; False if there is none in time, or the client has gone."""
    clock = asyncio.get_running_loop().time
    while (left := until - clock()) > 0:
        if await call.feed.wait(beyond, min(left, _LOOK_SECONDS)):
            return True
        if call.feed.is_stopping or await call.request.is_disconnected():
            return False
    return False


def _wants_batch(request: Request) -> bool:
    accepted = request.headers.get("accept", "").split(",")
    return any(text.partition(";")[0].strip().lower() == BATCH for text in accepted)


def _sealed(call: Call, position: FeedPosition) -> str:
    return call.seal.close(_PATH, (), str(position))


ENDPOINTS = (list_events,)
