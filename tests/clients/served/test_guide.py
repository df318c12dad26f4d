"""The examples of the guides run against a server."""

from __future__ import annotations

import doctest
import re
import sys

import pytest

from tests.clients.served.conftest import Served
from tests.paths import REPOSITORY
from tests.servers.lanceway import Lanceway

GUIDE = REPOSITORY / "docs" / "guide" / "clients.md"
LANCEDB_GUIDE = REPOSITORY / "docs" / "guide" / "lancedb.md"
ICEBERG_GUIDE = REPOSITORY / "docs" / "guide" / "iceberg-rest.md"
FENCE = re.compile(r"^```text\n(>>> .*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_run_as_printed(server: Lanceway, managed: Served, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(FENCE.findall(GUIDE.read_text()))
    told = text.replace("http://127.0.0.1:8400/lance", server.uri).replace("lw_…", server.token)
    assert told.count(server.uri) == told.count(server.token) == 1
    # The server is shared: the examples get names that nobody else uses.
    name = f"{managed.namespace[-1]}x"
    told = told.replace("team", name).replace("shared", f"{name}y")
    examples = doctest.DocTestParser().get_doctest(told, {}, GUIDE.name, str(GUIDE), 0)
    result = doctest.DocTestRunner().run(examples, out=sys.stdout.write)
    managed.catalog.drop_namespace({"id": ["lake", name], "behavior": "cascade"})
    managed.catalog.drop_namespace({"id": [f"{name}y"], "behavior": "cascade"})
    assert (result.failed, result.attempted) == (0, len(examples.examples)), capsys.readouterr().out
    assert result.attempted > 20


def test_iceberg_clients(server: Lanceway, managed: Served, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(FENCE.findall(ICEBERG_GUIDE.read_text()))
    told = text.replace("http://127.0.0.1:8400", server.address).replace("lw_…", server.token)
    told = told.replace("team", managed.namespace[-1])
    examples = doctest.DocTestParser().get_doctest(told, {}, ICEBERG_GUIDE.name, str(ICEBERG_GUIDE), 0)
    result = doctest.DocTestRunner().run(examples, out=sys.stdout.write)
    assert (result.failed, result.attempted) == (0, len(examples.examples)), capsys.readouterr().out
    assert result.attempted > 5


def test_lancedb_clients(server: Lanceway, managed: Served, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(FENCE.findall(LANCEDB_GUIDE.read_text()))
    told = text.replace("http://127.0.0.1:8400/lance", server.uri).replace("lw_…", server.token)
    told = told.replace("db://lake", f"db://{'/'.join(managed.namespace)}")
    examples = doctest.DocTestParser().get_doctest(told, {}, LANCEDB_GUIDE.name, str(LANCEDB_GUIDE), 0)
    result = doctest.DocTestRunner().run(examples, out=sys.stdout.write)
    assert (result.failed, result.attempted) == (0, len(examples.examples)), capsys.readouterr().out
    assert result.attempted > 15
