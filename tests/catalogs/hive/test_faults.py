"""A metastore that is down, restarts, says nothing or speaks another protocol; and what is refused unasked."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lanceway.catalogs import HiveCatalog
from lanceway.errors import InternalError, InvalidInputError, ServiceUnavailableError
from tests.catalogs.hive.hive_helpers import connect, create, database
from tests.servers import hive as hive_server
from tests.servers.hive import Hive
from tests.servers.run import Run, free_ports
from tests.servers.silent import silence


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def test_a_metastore_that_is_down_is_unavailable() -> None:
    uri = f"thrift://127.0.0.1:{free_ports(1)[0]}"
    with HiveCatalog(uri=uri, max_retries=0) as catalog, pytest.raises(ServiceUnavailableError, match=uri) as refused:
        catalog.list_namespaces({"id": []})
    assert refused.value.code == 17


def test_the_next_of_several_metastores_is_asked_where_one_is_down(hive: Hive) -> None:
    uris = f"thrift://127.0.0.1:{free_ports(1)[0]}, {hive.uri}"
    with HiveCatalog(uri=uris, max_retries=0) as catalog:
        assert "hive" in catalog.list_namespaces({"id": []}).namespaces


def test_a_metastore_that_says_nothing_is_not_waited_for() -> None:
    with (
        silence() as server,
        HiveCatalog(uri=f"thrift://127.0.0.1:{server.port}", read_timeout=0.2, max_retries=1) as catalog,
    ):
        with pytest.raises(ServiceUnavailableError, match="read_timeout"):
            catalog.list_namespaces({"id": []})
        assert server.asked.is_set()


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """A server that answers whatever comes with these bytes, as no metastore does, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:  # closed
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x03\x00\x00\x00\x04SASL"])
def test_a_server_that_speaks_another_protocol_is_not_a_metastore(answer: bytes) -> None:
    refused = pytest.raises(InternalError, match="cannot be read as a Hive Metastore")
    with saying(answer) as uri, HiveCatalog(uri=uri, max_retries=0) as catalog, refused:
        catalog.list_namespaces({"id": []})


def reply(method: str, result: bytes) -> bytes:
    """An answer to a method as Thrift writes it, with these bytes for its result."""
    return struct.pack(f">II{len(method)}sI", 0x80010002, len(method), method.encode(), 0) + result


UNREADABLE = {
    "a list of negative length": b"\x0f\x00\x00\x0b\xff\xff\xff\xff",
    "a text of negative length": b"\x0f\x00\x00\x0b\x00\x00\x00\x01\xff\xff\xff\xff",
    "numbers for texts": b"\x0f\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x07\x00",
    "a field of no type": b"\x63\x00\x07\x00",
}


@pytest.mark.parametrize("result", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_answer_that_cannot_be_read_is_said(result: bytes) -> None:
    refused = pytest.raises(InternalError, match="cannot be read as a Hive Metastore")
    with saying(reply("get_databases", result)) as uri, HiveCatalog(uri=uri, hierarchy="databases") as catalog, refused:
        catalog.list_namespaces({"id": []})


EMPTY = b"\x0c\x00\x00\x00\x00"  # a structure without fields


@pytest.mark.parametrize(
    ("method", "operation", "id_"),
    [
        ("get_table_req", "describe_table", ["c", "d", "t"]),
        ("get_catalog", "describe_namespace", ["c"]),
        ("get_catalogs", "list_namespaces", []),
    ],
)
def test_an_answer_without_what_was_asked_for_is_said(method: str, operation: str, id_: list[str]) -> None:
    refused = pytest.raises(InternalError, match="answers without")
    with saying(reply(method, EMPTY)) as uri, HiveCatalog(uri=uri, hierarchy="catalogs") as catalog, refused:
        getattr(catalog, operation)({"id": id_})


def test_a_text_that_cannot_be_written_is_refused(hive: Hive) -> None:
    with connect(hive) as catalog, pytest.raises(InvalidInputError, match="not valid Unicode"):
        catalog.create_namespace({"id": ["hive", "d"], "properties": {"team": "a\ud800"}})


def test_a_connection_that_is_cut_may_be_one_that_asks_for_kerberos() -> None:
    refused = pytest.raises(ServiceUnavailableError, match="Kerberos")
    with saying(b"") as uri, HiveCatalog(uri=uri, max_retries=0) as catalog, refused:
        catalog.list_namespaces({"id": []})


@pytest.mark.slow
def test_a_metastore_may_restart(whole_run: Run, tmp_path: Path) -> None:
    """One without direct SQL, which cannot change a table on the condition that it still is the same."""
    settings = {"metastore.try.direct.sql": "false"}
    server, process = hive_server.begin(whole_run, tmp_path, "4.0.1", **settings)
    with connect(server, tmp_path / "root", max_retries=0) as catalog:
        table = create(catalog, [*database(catalog), "t"])
        end(process)
        with pytest.raises(ServiceUnavailableError):
            catalog.describe_table({"id": table})
        port = int(server.uri.rpartition(":")[2])
        _, process = hive_server.begin(whole_run, tmp_path, "4.0.1", port, **settings)
        # A change, which is never sent twice: the connections that broke are not used for it.
        catalog.declare_table({"id": [*table[:2], "u"]})
        assert catalog.list_tables({"id": table[:2]}).tables == ["t", "u"]
        catalog.rename_table({"id": table, "new_table_name": "v"})
        assert catalog.count_table_rows({"id": [*table[:2], "v"]}).count == 3
    end(process)


def test_the_metastore_is_told_who_asks(hive: Hive, tmp_path: Path) -> None:
    with connect(hive, tmp_path, ugi="ada:staff,admins") as catalog:
        space = database(catalog)
        properties = catalog.describe_namespace({"id": space}).properties or {}
    assert properties["database.owner"] == "ada"


def test_connections_are_pooled_and_bounded(hive: Hive) -> None:
    with HiveCatalog(uri=hive.uri, **{"client.pool-size": "2"}) as catalog:
        threads = [threading.Thread(target=catalog.list_namespaces, args=({"id": []},)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pool = catalog._metastore._client._pools[os.getpid()]
        assert 1 <= len(pool._idle) <= 2
    assert not pool._idle


@pytest.mark.parametrize(
    "settings",
    [
        {"hive.metastore.sasl.enabled": "true"},
        {"hive.metastore.kerberos.principal": "hive/_HOST@EXAMPLE.COM"},
        {"kerberos.service-name": "hive"},
        {"kerberos.client-principal": "ada@EXAMPLE.COM"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_kerberos_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"Kerberos \(SASL\)"):
        HiveCatalog(**settings)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"uri": "http://localhost:9083"}, "uri"),
        ({"uri": "thrift://ada:secret@localhost"}, "uri"),
        ({"uri": "thrift://localhost:port"}, "uri"),
        ({"catalog": "other"}, "hierarchy"),
        ({"read_timeout": "0"}, "read_timeout"),
        ({"max_retries": "-1"}, "max_retries"),
        ({"client.pool-size": "0"}, "pool_size"),
        ({"hierarchy": "folders"}, "hierarchy"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named) as refused:
        HiveCatalog(**settings)
    assert "secret" not in str(refused.value)


def test_nothing_is_asked_before_the_first_operation() -> None:
    catalog = HiveCatalog()
    assert pickle.loads(pickle.dumps(catalog)) == catalog
    assert catalog.address() == "hive uri=thrift://localhost:9083"
