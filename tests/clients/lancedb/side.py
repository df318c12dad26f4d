"""The synchronous and the asynchronous API of the stock client, which exercises use in one way."""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import lancedb
import pyarrow as pa

SYNC, ASYNC = "synchronous", "asynchronous"
SIDES = (SYNC, ASYNC)
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.utf8()), ("vector", pa.list_(pa.float32(), 2))])
ROWS = 6
# A refusal in the words of the client, where it asks no server, and in those of a server.
REFUSALS = (AttributeError, NotImplementedError, RuntimeError, ValueError)
_ANSWER = re.compile(r"\{.*\}", re.DOTALL)
_NUMBERS = itertools.count()


def fruit(*ids: int) -> pa.Table:
    """Rows whose vectors are in the order of their ids; odd ones are apples, even ones pears."""
    rows = [{"id": id_, "text": f"{'apple' if id_ % 2 else 'pear'} {id_}", "vector": [id_, 0.0]} for id_ in ids]
    return pa.Table.from_pylist(rows, SCHEMA)


async def done(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def value_of(owner: Any, name: str) -> Any:
    """The value of a property or of a method without arguments, whichever this API has."""
    value = getattr(owner, name)
    return await done(value() if callable(value) else value)


async def refusal(call: Callable[[], Any]) -> str:
    """Return the sentence of a call that must be refused."""
    try:
        await done(call())
    except REFUSALS as error:
        return sentence(error)
    raise AssertionError("it was not refused")


def sentence(error: BaseException) -> str:
    """What an error says, without what the client puts around it; a mark where the server did not say it."""
    text = str(error)
    answer = _ANSWER.search(text)
    if answer:
        return str(json.loads(answer[0])["error"])
    words = " ".join(text.replace("LanceDBError: ", "").split())
    return f"The client: {words or type(error).__name__}"


@dataclass
class Side:
    """One API of the client, connected to a database that is a namespace of its own."""

    name: str
    uri: str
    token: str = field(repr=False)
    database: str
    db: Any = field(init=False, default=None)

    @property
    def is_sync(self) -> bool:
        return self.name == SYNC

    async def connect(self, database: str = "", **options: Any) -> Any:
        address = f"db://{database or self.database}"
        make = lancedb.connect if self.is_sync else lancedb.connect_async
        return await done(make(address, api_key=self.token, host_override=self.uri, **options))

    async def table(self, *ids: int) -> Any:
        """A new table of six rows, or of rows with these ids."""
        return await done(self.db.create_table(self.new_name(), fruit(*(ids or range(1, ROWS + 1)))))

    async def space(self) -> str:
        """A new namespace."""
        name = self.new_name()
        await done(self.db.create_namespace([name]))
        return name

    @staticmethod
    def new_name() -> str:
        return f"t{next(_NUMBERS)}"

    def plain(self, sentence: str) -> str:
        """A sentence without the names of this run."""
        return re.sub(r"\bt[0-9]+\b", "NAME", sentence.replace(f"{self.database.partition('/')[2]}.", ""))


Exercise = Callable[[Side], Awaitable[str | None]]


async def ids(query: Any) -> list[int]:
    return [row["id"] for row in await done(query.to_list())]
