"""Limits of values that come from clients: numbers and texts that both databases can store."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_NO_NUL = r"^[^\x00]*$"  # PostgreSQL has no text with one

Count = Annotated[int, Meta(ge=0, le=2**53)]  # what any reader of JSON can tell exactly
Key = Annotated[str, Meta(max_length=500, pattern=_NO_NUL)]  # it stands in an index, whose entries are short
Place = Annotated[str, Meta(max_length=1_000, pattern=_NO_NUL)]  # so does a location
LONGEST = 100_000  # characters
Words = Annotated[str, Meta(max_length=LONGEST, pattern=_NO_NUL)]


def kept(text: str | None) -> str | None:
    """Return a text of any origin, such as an error's, cut and cleaned so that both databases can store it."""
    return None if text is None else text.encode(errors="replace").decode().replace("\x00", "\ufffd")[:LONGEST]
