"""A database that is shared, pickled, forked, closed, or that cannot be used at all."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.errors import RetryError
from lanceway.lake.tree import metalakes
from tests.servers.postgres import GUARDED, Postgres
from tests.servers.run import free_ports


def names(store: LakeStore) -> list[str]:
    return list(store.read(metalakes.names))


def make(store: LakeStore, name: str) -> None:
    store.transact(metalakes.create, name, by="me")


def test_what_is_committed_is_seen_by_others(store: LakeStore, uri: str) -> None:
    make(store, "m")
    other = open_store(uri)
    assert names(other) == ["m"]
    other.close()


def test_what_raises_leaves_nothing(store: LakeStore) -> None:
    def work(connection: Connection) -> None:
        metalakes.create(connection, "m", by="me")
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        store.transact(work)
    with pytest.raises(KeyError, match="enough"), store.transaction() as connection:
        work(connection)
    assert names(store) == []


def test_a_transaction_is_kept_when_its_block_ends(store: LakeStore) -> None:
    with store.transaction() as connection:
        metalakes.create(connection, "a", by="me")
        metalakes.create(connection, "b", by="me")
    assert names(store) == ["a", "b"]


def test_work_is_begun_anew_where_somebody_was_in_the_way(store: LakeStore) -> None:
    attempts = []

    def work(connection: Connection) -> str:
        attempts.append(1)
        metalakes.create(connection, "m", by="me")  # would be there already, had the attempts before been kept
        if len(attempts) < 4:
            raise RetryError("not yet")
        return "done"

    assert store.transact(work) == "done"
    assert names(store) == ["m"]


def test_work_that_never_succeeds_is_given_up(store: LakeStore, uri: str) -> None:
    attempts = []

    def work(connection: Connection) -> None:
        attempts.append(1)
        raise RetryError("never")

    hasty = LakeStore(uri, patience=5)
    with pytest.raises(ConcurrentModificationError, match="never"):
        hasty.transact(work)
    assert len(attempts) == 20
    hasty.close()


def test_a_copy_that_was_pickled_opens_its_own_connections(store: LakeStore) -> None:
    make(store, "m")
    copied: LakeStore = pickle.loads(pickle.dumps(store))
    assert names(copied) == ["m"]
    copied.close()


def test_a_closed_store_opens_again(store: LakeStore) -> None:
    make(store, "m")
    store.close()
    store.close()
    assert names(store) == ["m"]


def _in_child(store: LakeStore, answers: Any) -> None:
    for number in range(5):
        make(store, f"child{number}")
    answers.put(names(store))
    store.close()


def test_parent_and_child_use_it_after_a_fork(store: LakeStore) -> None:
    make(store, "before")
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(store, answers))
    child.start()
    for number in range(5):
        make(store, f"parent{number}")
    assert {"before", *(f"child{number}" for number in range(5))} <= set(answers.get(timeout=60))
    child.join()
    assert child.exitcode == 0
    assert len(names(store)) == 11


def test_more_threads_than_connections_take_turns(store: LakeStore) -> None:
    threads = [threading.Thread(target=make, args=(store, f"m{number}")) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(store)) == 40


def test_a_lost_connection_is_opened_again(postgres: Postgres) -> None:
    store = open_store(postgres.uri(postgres.schema()))
    make(store, "before")
    pid = store.read(lambda connection: connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
    postgres.execute(f"SELECT pg_terminate_backend({pid})")
    make(store, "after")
    pid = store.read(lambda connection: connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
    postgres.execute(f"SELECT pg_terminate_backend({pid})")
    assert names(store) == ["after", "before"]
    store.close()


def test_a_silent_server_is_noticed(postgres: Postgres) -> None:
    uri = postgres.uri(postgres.schema())
    assert _socket_options(LakeStore(uri)) == [1, 10, 5, 3, 30_000]
    chosen = f"{uri}{'&' if '?' in uri else '?'}keepalives_idle=7&tcp_user_timeout=9000"
    assert _socket_options(LakeStore(chosen)) == [1, 7, 5, 3, 9_000]


def _socket_options(store: LakeStore) -> list[int]:
    def ask(connection: Connection) -> list[int]:
        driver: Any = connection.connection.driver_connection
        with socket.socket(fileno=os.dup(driver.fileno())) as line:
            alive = line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            tcp = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
            return [alive, *(line.getsockopt(socket.IPPROTO_TCP, option) for option in tcp)]

    options = store.read(ask)
    store.close()
    return options


def test_a_statement_without_end_is_given_up(postgres: Postgres) -> None:
    hasty = LakeStore(postgres.uri(postgres.schema()), patience=0.02)
    with pytest.raises(ServiceUnavailableError, match="stopped or refused the work"):
        hasty.read(lambda connection: connection.execute(text("SELECT pg_sleep(600)")).all())
    hasty.close()


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("", "cannot be read"),
        ("nonsense", "cannot be read"),
        ("mysql://u:hidden@h/d", "cannot live in 'mysql'"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:////nowhere/at/all/lake.db", "no folder"),
    ],
)
def test_a_uri_that_names_no_database_is_refused(uri: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason) as refused:
        open_store(uri)
    assert "hidden" not in str(refused.value)


def test_no_password_is_shown() -> None:
    store = LakeStore("postgresql://ann:hidden@localhost/db?password=hidden2")
    assert repr(store) == "LakeStore('postgresql://ann:***@localhost/db')"


def expect(error: type[LanceNamespaceError], match: str, action: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match) as raised:
        action()
    assert "hidden" not in str(raised.value)


def test_a_server_that_does_not_answer() -> None:
    uri = f"postgresql://ann:hidden@127.0.0.1:{free_ports(1)[0]}/db"
    expect(ServiceUnavailableError, "cannot be reached", lambda: open_store(uri))


def test_a_server_that_refuses(postgres: Postgres) -> None:
    at = f"127.0.0.1:{postgres.port}"
    expect(InvalidInputError, "no such database", lambda: open_store(f"postgresql://postgres:hidden@{at}/nowhere"))
    expect(UnauthenticatedError, "credentials", lambda: open_store(f"postgresql://nobody:hidden@{at}/postgres"))


def test_a_wrong_password(postgres: Postgres) -> None:
    user = f"u{uuid.uuid4().hex}"
    postgres.execute(f"CREATE ROLE {GUARDED}")
    postgres.execute(f"CREATE USER {user} PASSWORD 'right' IN ROLE {GUARDED}")
    at = f"127.0.0.1:{postgres.port}/postgres?options=-csearch_path%3D{postgres.schema()}"
    for password in ("", ":hidden"):
        expect(UnauthenticatedError, "credentials", lambda p=password: open_store(f"postgresql://{user}{p}@{at}"))
    expect(InvalidInputError, "search_path", lambda: open_store(f"postgresql://{user}:right@{at}"))


def test_a_server_that_has_no_connection_left(postgres: Postgres) -> None:
    user = f"u{uuid.uuid4().hex}"
    postgres.execute(f"CREATE USER {user} CONNECTION LIMIT 0")
    uri = f"postgresql://{user}@127.0.0.1:{postgres.port}/postgres"
    expect(ServiceUnavailableError, "run out of resources", lambda: open_store(uri))


def test_a_user_without_rights(postgres: Postgres) -> None:
    schema = postgres.schema()
    user = f"u{schema}"
    postgres.execute(f"CREATE USER {user}; GRANT USAGE ON SCHEMA {schema} TO {user}")
    uri = postgres.uri(schema).replace("postgres@", f"{user}@")
    expect(PermissionDeniedError, "grant", lambda: open_store(uri))
    open_store(postgres.uri(schema)).close()
    expect(PermissionDeniedError, "grant", lambda: open_store(uri))


def test_a_database_that_is_not_utf8(postgres: Postgres) -> None:
    name = postgres.schema()
    postgres.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    expect(InvalidInputError, r"LATIN1.*UTF8", lambda: open_store(postgres.uri(database=name)))


def test_a_server_that_takes_no_changes(postgres: Postgres) -> None:
    schema = postgres.schema()
    open_store(postgres.uri(schema)).close()
    store = open_store(f"{postgres.uri(schema)}%20-cdefault_transaction_read_only%3Don")
    assert names(store) == []
    expect(ServiceUnavailableError, "takes no changes", lambda: make(store, "m"))
    store.close()


def test_a_file_that_is_read_only(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/lake.db").close()
    store = open_store(f"sqlite:///file:{tmp_path}/lake.db?mode=ro&uri=true")
    assert names(store) == []
    expect(PermissionDeniedError, "read-only", lambda: make(store, "m"))
    store.close()


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "lake.db").write_bytes(b"no database at all, but a few words" * 100)
    expect(InvalidInputError, "not an SQLite database", lambda: open_store(f"sqlite:///{tmp_path}/lake.db"))


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/lake.db")

    def fill(connection: Connection) -> None:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        for number in range(200):
            metalakes.create(connection, f"m{number}", by="me", comment="x" * 5000)

    expect(ServiceUnavailableError, "disk is full", lambda: store.transact(fill))
    assert names(store) == []
    store.close()


def test_somebody_who_holds_the_lock_too_long(uri: str, store: LakeStore) -> None:
    hasty: LakeStore = pickle.loads(pickle.dumps(LakeStore(uri, patience=0.2)))

    def change(connection: Connection) -> None:
        metalakes.alter(connection, "m", by="me", comment="mine")

    make(store, "m")
    with store.transaction() as connection:
        change(connection)
        expect(ServiceUnavailableError, "locked by others", lambda: hasty.transact(change))
        assert names(hasty) == ["m"]  # readers do not wait
    hasty.transact(change)
    hasty.close()
