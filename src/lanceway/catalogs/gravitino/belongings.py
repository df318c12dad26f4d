"""What people have given to a table in Gravitino: its owner and its tags, which a new row of it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanceway.catalogs.gravitino import messages, names
from lanceway.catalogs.gravitino.client import GravitinoClient
from lanceway.errors import LanceNamespaceError, UnsupportedOperationError
from lanceway.identifiers import Identifier

_TYPE = "table"


@dataclass(frozen=True, slots=True)
class Belongings:
    """The owner of a table, as Gravitino has it, and the tags of its own."""

    owner: dict[str, str] | None = None
    tags: Sequence[str] = ()


class BelongingsKeeper:
    """Carries owners and tags over to a row that takes the place of another."""

    def __init__(self, client: GravitinoClient) -> None:
        self._client = client

    def look(self, table: Identifier) -> Belongings:
        """Return what a table has. A server without owners or without tags has none of them."""
        return Belongings(self._owner(table), self._tags(table))

    def _owner(self, table: Identifier) -> dict[str, str] | None:
        try:
            answer = self._client.ask("get_owner", f"Looking for the owner of {table}", parts=self._parts(table))
        except UnsupportedOperationError:
            return None
        return messages.read_owner(answer)

    def _tags(self, table: Identifier) -> list[str]:
        what, query = f"Looking for the tags of {table}", [("details", "true")]
        try:
            answer = self._client.ask("list_tags", what, parts=self._parts(table), query=query)
        except UnsupportedOperationError:
            return []
        return messages.read_tags(answer)

    def give(self, table: Identifier, belongings: Belongings) -> None:
        """Give a new row what the one before it had. Raises what refuses that, and says that the row is there."""
        current = self.look(table)
        missing = [tag for tag in belongings.tags if tag not in current.tags]
        try:
            if missing:
                body = {"tagsToAdd": missing, "tagsToRemove": list[str]()}
                self._client.ask("change_tags", f"Tagging {table}", parts=self._parts(table), body=body)
            if belongings.owner is not None and belongings.owner != current.owner:
                what = f"Setting the owner of {table}"
                self._client.ask("set_owner", what, parts=self._parts(table), body=belongings.owner)
        except LanceNamespaceError as error:
            raise type(error)(
                f"{table} is registered, but has not the owner and the tags that it had before: {error} It had "
                f"{belongings.owner} and {list(belongings.tags)}; set them in Gravitino."
            ) from error

    def _parts(self, table: Identifier) -> dict[str, str]:
        return {"type": _TYPE, "object": names.full_name(table, self._client.separator, is_table=True)}
