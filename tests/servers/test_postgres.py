"""The PostgreSQL of the suite is one, and its schemas are apart."""

from __future__ import annotations

from tests.servers.postgres import Postgres


def test_it_is_recent_enough_and_on_loopback_alone(postgres: Postgres) -> None:
    ((version,),) = postgres.execute("SHOW server_version_num")
    assert int(version) >= 150_000
    assert postgres.execute("SHOW listen_addresses") == [("127.0.0.1",)]


def test_schemas_are_apart(postgres: Postgres) -> None:
    one, other = postgres.schema(), postgres.schema()
    postgres.execute(f"CREATE TABLE {one}.t (a int)")
    found = postgres.execute(
        f"SELECT table_schema FROM information_schema.tables WHERE table_schema IN ('{one}', '{other}')"
    )
    assert found == [(one,)]
