"""Tokens as they are listed, page by page, without their secrets."""

from __future__ import annotations

from typing import Any

from lanceway.access import tokens
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start_id
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tokens import Token


def described(token: Token) -> dict[str, Any]:
    """Describe a token without its secret; empty fields are left out. Times are milliseconds since 1970."""
    facts = {
        "prefix": tokens.shown(token.prefix),
        "user": token.user,
        "label": token.label,
        "created_by": token.created_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
        "last_used_at": token.last_used_at,
    }
    return {key: value for key, value in facts.items() if value is not None}


def page(
    store: LakeStore, *, user: str | None, dead: bool, limit: int | None, page_token: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of tokens, the oldest first, and the token of the page that follows, if one does."""
    list_ = f"tokens\0{user or ''}\0{dead}"
    after = page_start_id(list_, page_token) or 0
    limit = page_limit(limit)
    rows = tokens.page(store, user=user, dead=dead, after=after, limit=limit and limit + 1)
    items, token = page_of(rows, limit, list_, lambda item: str(item.id))
    return [described(item) for item in items], token
