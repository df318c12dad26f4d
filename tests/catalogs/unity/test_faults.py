"""What goes wrong between here and Unity Catalog: tokens, time-outs, lost answers, answers of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import UnityCatalog
from lanceway.errors import ErrorCode, LanceNamespaceError, ServiceUnavailableError, TableAlreadyExistsError
from lanceway.testing.sandbox import code
from tests.catalogs.unity.unity_helpers import Home, count, create, declare, describe, home, namespaces, tables
from tests.servers.faults import faults
from tests.servers.unity import Fault, Unity

LOST = Fault(done=True)
BROKEN = Fault()


@pytest.fixture
def fake(fake_unity: Unity) -> Iterator[Home]:
    """The fake behind a catalog of its own, with a schema."""
    with home(fake_unity.endpoint) as place:
        place.schema()
        fake_unity.seen.clear()
        yield place
        fake_unity.token = None
        fake_unity.faults.clear()


def methods(server: Unity) -> list[str]:
    return [request.method for request in server.seen]


# -- who asks ------------------------------------------------------------------------------------


def test_who_says_nothing_is_unauthenticated_and_who_may_not_is_denied(fake: Home, fake_unity: Unity) -> None:
    fake_unity.token = "right-token"
    for token, wanted in ((None, 16), ("wrong-token", 15)):
        with pytest.raises(LanceNamespaceError) as refused:
            namespaces(fake.connect(auth_token=token), [fake.catalog])
        assert refused.value.code == ErrorCode(wanted)
        assert "wrong-token" not in str(refused.value)
    assert namespaces(fake.connect(auth_token="right-token"), [fake.catalog]) == ["s"]
    fake_unity.denied = frozenset({"POST"})
    with code(15):
        declare(fake.connect(auth_token="right-token"), [fake.catalog, "s", "t"])


# -- asked again where that is safe --------------------------------------------------------------


@pytest.mark.parametrize("fault", [BROKEN, Fault(503), Fault(429, headers={"Retry-After": "0"}), Fault(502)], ids=str)
def test_a_question_is_asked_again(fake: Home, fake_unity: Unity, fault: Fault) -> None:
    fake_unity.will(fault)
    assert namespaces(fake.connect(), [fake.catalog]) == ["s"]
    assert methods(fake_unity) == ["GET", "GET"]


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [(BROKEN, 17), (Fault(503), 17), (Fault(429), 21), (Fault(500), 18), (Fault(200, b'{"schemas": ['), 18)],
    ids=["broken off", "503", "429", "500", "half an answer"],
)
def test_what_stays_wrong_has_its_code(fake: Home, fake_unity: Unity, fault: Fault, wanted: int) -> None:
    fake_unity.will(fault)
    with code(wanted):
        namespaces(fake.connect(max_retries=0), [fake.catalog])


def test_a_change_that_may_have_happened_is_not_asked_for_twice(fake: Home, fake_unity: Unity) -> None:
    fake_unity.will(LOST)
    with pytest.raises(ServiceUnavailableError, match="not known"):
        fake.connect().create_namespace({"id": [fake.catalog, "n"]})
    assert methods(fake_unity) == ["POST"]


def test_a_declaration_whose_answer_was_lost_is_ours(fake: Home, fake_unity: Unity) -> None:
    """It is not sent again, which Unity might store beside the first, but looked for; and it finds its own claim."""
    fake_unity.will(LOST)
    table = [fake.catalog, "s", "t"]
    location = declare(fake.connect(), table).location
    assert methods(fake_unity) == ["POST", "GET", "GET"]
    assert describe(fake.connect(), table).location == location


def test_a_declaration_that_never_gets_an_answer_is_looked_for(fake: Home, fake_unity: Unity) -> None:
    fake_unity.will(LOST)
    assert declare(fake.connect(max_retries=0), [fake.catalog, "s", "t"]).location
    fake_unity.will(BROKEN)
    with code(17):
        declare(fake.connect(max_retries=0), [fake.catalog, "s", "u"])
    assert tables(fake.connect(), [fake.catalog, "s"]) == ["t"]


def test_a_name_that_somebody_else_took_meanwhile_is_not_ours(fake: Home, fake_unity: Unity) -> None:
    fake.table("t")
    fake_unity.will(BROKEN)
    with pytest.raises(TableAlreadyExistsError):
        declare(fake.connect(), [fake.catalog, "s", "t"])


def test_a_table_that_is_gone_although_no_answer_said_so_is_gone(fake: Home, fake_unity: Unity, tmp_path: Path) -> None:
    catalog = fake.connect(tmp_path)
    table = create(catalog, [fake.catalog, "s", "t"])
    fake_unity.will(Fault(done=True, method="DELETE"))
    assert catalog.deregister_table({"id": table}).location
    create(catalog, table)
    fake_unity.will(Fault(method="DELETE"))
    with code(17):
        catalog.deregister_table({"id": table})
    assert count(catalog, table) == 3


@pytest.mark.parametrize("done", [True, False])
def test_a_rename_whose_end_was_lost_leaves_one_name(fake: Home, fake_unity: Unity, tmp_path: Path, done: bool) -> None:
    catalog, schema = fake.connect(tmp_path), [fake.catalog, "s"]
    table = create(catalog, [*schema, "old"])
    fake_unity.will(Fault(done=done, method="DELETE"))
    if done:
        catalog.rename_table({"id": table, "new_table_name": "new"})
    else:
        with code(17):
            catalog.rename_table({"id": table, "new_table_name": "new"})
    (name,) = tables(catalog, schema)
    assert name == ("new" if done else "old")
    assert count(catalog, [*schema, name]) == 3


# -- other servers -------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with code(17):
        namespaces(UnityCatalog(endpoint="http://127.0.0.1:1", catalog="c", max_retries=0), ["c"])


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with faults() as server:
        server.will(server.stall)
        catalog = UnityCatalog(endpoint=server.uri, catalog="c", read_timeout="0.2", max_retries="0")
        with code(17):
            namespaces(catalog, ["c"])


@pytest.mark.parametrize("body", [b"<html>hello</html>", {"schemas": 7}, [], {"schemas": [{}]}], ids=str)
def test_an_answer_of_another_kind_of_server_is_internal(fake: Home, fake_unity: Unity, body: Any) -> None:
    fake_unity.will(Fault(200, body))
    with code(18):
        namespaces(fake.connect(), [fake.catalog])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(404, b"<html>nothing here</html>"),
        Fault(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": "No API found"}),
    ],
    ids=["no Unity", "Databricks"],
)
def test_a_path_that_a_server_has_not_is_said_to_be_wrong(fake: Home, fake_unity: Unity, fault: Fault) -> None:
    fake_unity.will(fault)
    with pytest.raises(LanceNamespaceError, match="api_path") as refused:
        namespaces(fake.connect(), [fake.catalog])
    assert refused.value.code == ErrorCode.INVALID_INPUT
