"""Stock clients of every kind commit to one managed table through a server, all at once."""

from __future__ import annotations

import lance

from tests.clients.served.conftest import Served
from tests.clients.test_managed import EACH, rows, start

CLIENTS = ("pylance", "lancedb", "daft")


def test_writers_of_every_kind_lose_and_double_nothing(managed: Served) -> None:
    lance.write_dataset(rows(0), mode="create", **managed.address("orders"))
    writers = [
        start(client, managed.properties, 100 * (number + 1), managed.table("orders"))
        for number, client in enumerate(CLIENTS)
    ]
    assert [writer.stdout.readline() for writer in writers if writer.stdout] == ["ready\n"] * len(CLIENTS)
    said = [writer.communicate("go\n") for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(CLIENTS)
    acknowledged = [int(line) for out, _ in said for line in out.split()]

    found = lance.dataset(**managed.address("orders")).to_table()["id"].to_pylist()
    assert sorted(found) == [0, *sorted(acknowledged)]
    assert len(acknowledged) == EACH * len(CLIENTS)
    assert managed.versions("orders") == list(range(1, len(acknowledged) + 2))
