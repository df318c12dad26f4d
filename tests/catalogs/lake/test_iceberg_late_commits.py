"""COMMITs that arrive at PostgreSQL when their client has heard that the connection broke: no table loses its file."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
from tests.catalogs.lake.iceberg_helpers import TABLE, commit, create, document, files, set_properties
from tests.catalogs.lake.lake_helpers import connect
from tests.servers.postgres import Postgres

LONGEST = 30.0  # seconds
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


class BreakingLine:
    """A line to PostgreSQL. Once told to, it breaks where a client commits, and keeps the COMMIT to deliver it later.

    It stands for a network that no server shows on demand.
    """

    def __init__(self, port: str) -> None:
        self._target = ("127.0.0.1", int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._breaks, self._delivers, self._is_answered = threading.Event(), threading.Event(), threading.Event()
        self.port = str(self._listener.getsockname()[1])

    def break_next(self) -> None:
        self._breaks.set()

    def deliver(self) -> None:
        """Send the COMMIT that was kept, and wait until the server has answered."""
        self._delivers.set()
        assert self._is_answered.wait(LONGEST)

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._carry, args=(client,))
                thread.start()
                self._threads.append(thread)

    def _carry(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._target) as server:
            while True:
                (ready, *_), _, _ = select.select((client, server), (), ())
                data = ready.recv(65_536)
                if not data:
                    return
                if ready is client and b"COMMIT" in data and self._breaks.is_set():
                    self._breaks.clear()
                    client.close()
                    self._delivers.wait(LONGEST)
                    server.sendall(data)
                    server.recv(65_536)
                    self._is_answered.set()
                    return
                (server if ready is client else client).sendall(data)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def line(postgres: Postgres) -> Iterator[BreakingLine]:
    with BreakingLine(postgres.port) as made:
        yield made


@pytest.fixture
def far(postgres: Postgres, postgres_uri: str, line: BreakingLine, tmp_path: Path) -> Iterator[LakeCatalog]:
    """A catalog behind the line."""
    with connect(postgres_uri.replace(f":{postgres.port}", f":{line.port}"), tmp_path) as made:
        yield made


def test_a_commit_that_arrives_while_the_row_is_asked_for_is_made(
    far: LakeCatalog, line: BreakingLine, postgres: Postgres
) -> None:
    made = create(far)
    is_over = threading.Event()

    def deliver() -> None:
        while not is_over.wait(0.01) and postgres.execute(_WAITING) == [(0,)]:
            pass
        line.deliver()

    delivery = threading.Thread(target=deliver)
    line.break_next()
    delivery.start()
    try:
        changed = commit(far, set_properties(k="v"))
    finally:
        is_over.set()
        delivery.join()
    assert far.load_iceberg_table(TABLE) == changed
    assert document(changed)["properties"] == {"k": "v"}
    assert len(files(made)) == 2


def test_a_creation_that_arrives_when_it_was_given_up_has_its_file(far: LakeCatalog, line: BreakingLine) -> None:
    far.create_namespace({"id": ["a"]})  # type: ignore[arg-type]
    line.break_next()
    with pytest.raises(CommitStateUnknownError):
        create(far)
    assert not far.iceberg_table_exists(TABLE)
    line.deliver()
    made = far.load_iceberg_table(TABLE)
    assert files(made) == {str(made.metadata_location).rpartition("/")[2]}
    assert far.clean_iceberg(older_than=0) == []
