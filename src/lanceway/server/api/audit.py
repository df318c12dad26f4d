"""`/lanceway/v1/audit`: who asked for which change, and who was refused.

    GET /lanceway/v1/audit    the newest first: for an admin everybody's, for others their own

Times are milliseconds since 1970.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta

from lanceway.access.records import audit
from lanceway.errors import PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake.access.audit import OUTCOMES, AuditEvent, AuditFilter
from lanceway.server.api.endpoints import Call, PageQuery, derive, endpoint, page_type
from lanceway.wire.lance import DELIMITER

_LAST = 253_402_300_799_999  # the end of the year 9999

Outcome = Literal[OUTCOMES]  # type: ignore[valid-type]
Time = Annotated[int, Meta(ge=0, le=_LAST, description="Milliseconds since 1970.")]

AuditAnswer = derive("AuditEvent", AuditEvent, "Something that was asked for.", sparse=True, id=int, at=int)


class AuditQuery(PageQuery):
    user: Annotated[str, Meta(description="Only what this user asked for; only an admin may name others.")] | None = (
        None
    )
    object: (
        Annotated[str, Meta(description="Only this object and those inside it; the delimiter joins its names.")] | None
    ) = None
    delimiter: Annotated[str, Meta(description="What joins the names of an object; $ without it.")] | None = None
    operation: Annotated[str, Meta(description="Only this operation, such as drop_table.")] | None = None
    outcome: Annotated[Outcome, Meta(description="Only what ended so.")] | None = None
    request_id: Annotated[str, Meta(description="Only this request.")] | None = None
    since: Time | None = None
    until: Time | None = None


@endpoint("GET", "/audit", page_type("Audit", "events", AuditAnswer), anonymous=False)
async def list_audit(call: Call, query: AuditQuery) -> object:
    """List what was asked for, the newest first."""
    user = query.user if call.principal.admin else call.principal.name
    if query.user not in (None, user):
        raise PermissionDeniedError("Only an admin may read what others did. Leave `user` out for your own.")
    names = Identifier.parse(query.object, query.delimiter or DELIMITER) if query.object else None
    wanted = AuditFilter(
        user,
        None if names is None else audit.object_path(names),
        query.operation,
        query.outcome,
        query.request_id,
        query.since,
        query.until,
    )
    list_page = partial(audit.described_page, call.store, wanted, limit=query.size, page_token=query.page_token)
    events, token = await call.run(list_page)
    return {"events": events, "page_token": token}


ENDPOINTS = (list_audit,)
