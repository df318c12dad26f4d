"""Names on this wire: logical paths, escapes, full names, and what cannot be a name, each refused with advice."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import settings
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


@pytest.fixture(scope="module")
def own(whole_run: Run) -> Iterator[Lanceway]:
    """A server of this module's own, whose policy is changed."""
    started = lanceway_server.start(whole_run, name="names")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def store(own: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(own)
    yield opened
    opened.close()


@pytest.fixture
def nested(own: Lanceway, store: LakeStore) -> Iterator[Asker]:
    with asking(own, own.token, new_catalog(store, own)) as asker:
        yield asker


@pytest.fixture
def flat(own: Lanceway, store: LakeStore) -> Iterator[Asker]:
    with asking(own, own.token, new_catalog(store, own, nested=False)) as asker:
        yield asker


def message(answer: httpx.Response) -> str:
    text: str = answer.json()["message"]
    return text


def test_the_separator_is_told_without_credentials(own: Lanceway) -> None:
    answer = httpx.get(f"{own.address}/configs", trust_env=False)
    assert answer.json() == {"gravitino.schema.separator": ":", "gravitino.authorization.enable": True}
    assert httpx.post(f"{own.address}/configs", trust_env=False).status_code == 405
    version = httpx.get(f"{own.address}/api/version", trust_env=False).json()
    assert version["code"] == 0
    assert version["version"]["version"] >= "1.3.0"


def test_a_client_may_say_goodbye(own: Lanceway) -> None:
    for path in ("/", "/api"):
        answer = httpx.request("CLOSE", f"{own.address}{path}", trust_env=False)
        assert (answer.status_code, answer.content) == (204, b"")
    assert httpx.request("BREW", f"{own.address}/", trust_env=False).status_code == 400


def test_names_in_bodies_are_decoded_once(nested: Asker) -> None:
    assert nested.create("A%3AB").json()["schema"]["name"] == "A:B"
    assert nested.list("A") == "A:B"
    answer = nested.create("A%253AB")
    assert refused(answer) == ILLEGAL
    assert "A_3AB" in message(answer)
    for name in ("50%", "%", "a%2", "%25"):
        assert refused(nested.create(name)) == ILLEGAL
    assert refused(nested.create("%ff")) == ILLEGAL
    assert nested.create("%C3%A4").json()["schema"]["name"] == "ä"
    assert nested.ask("GET", nested.schemas("ä")).json()["schema"]["name"] == "ä"


def test_a_percent_that_another_dialect_made_is_served(own: Lanceway, nested: Asker) -> None:
    made = nested.client.post(f"/lance/v1/namespace/{nested.catalog}$50%25/create", json={})
    assert made.is_success
    assert nested.list() == "50%"
    assert nested.ask("GET", nested.schemas("50%")).json()["schema"]["name"] == "50%"
    assert nested.ask("DELETE", nested.schemas("50%")).json() == {"code": 0, "dropped": True}


@pytest.mark.parametrize("name", ["A::B", ":A", "A:", ":", "", "   ", "a\x00b", "a\nb", "\u202ex", "\ud800", "x" * 256])
def test_what_cannot_be_a_name(nested: Asker, name: str) -> None:
    escaped = name.encode("unicode_escape").decode() if name == "\ud800" else None
    if escaped is not None:
        content = f'{{"name": "{escaped}"}}'.encode()
        answer = nested.ask("POST", nested.schemas(), content=content, headers={"content-type": "application/json"})
    else:
        answer = nested.create(name)
    assert refused(answer) == ILLEGAL
    assert nested.list() == "-"


@pytest.mark.parametrize("parent", ["A::B", ":A", "A:"])
def test_a_parent_with_an_empty_segment(nested: Asker, parent: str) -> None:
    answer = nested.ask("GET", nested.schemas(), params={"parentSchema": parent})
    assert refused(answer) == ILLEGAL
    assert "empty name" in message(answer)


def test_a_blank_parent_is_none(nested: Asker) -> None:
    nested.make("A:B")
    assert nested.list("") == nested.list("  ") == nested.list() == "A"


def test_names_of_255_characters_and_no_more(nested: Asker) -> None:
    name = "x" * 255
    assert nested.create(f"{name}:{name}").status_code == 200
    assert nested.ask("GET", nested.schemas(f"{name}:{name}")).status_code == 200
    for long in ("y" * 256, "y" * 512):
        answer = nested.create(long)
        assert refused(answer) == ILLEGAL
        assert "at most 255" in message(answer)
    assert refused(nested.ask("GET", nested.schemas("z" * 512))) == (404, 1003, "NoSuchSchemaException")


def test_siblings_with_like_names_are_not_children(nested: Asker) -> None:
    nested.make("raw:events", "raw:events2", "raw2:x", "pa_b:c", "paxb:d", "A.B:C", "A")
    assert nested.list() == "A,A.B,pa_b,paxb,raw,raw2"
    assert nested.list("raw") == "raw:events,raw:events2"
    assert nested.list("pa_b") == "pa_b:c"
    assert nested.list("A") == "-"
    assert nested.list("A.B") == "A.B:C"


def test_the_separator_in_a_flat_catalog(store: LakeStore, flat: Asker) -> None:
    answer = flat.create("a:b")
    assert refused(answer) == ILLEGAL
    assert "'a_b'" in message(answer)
    flat.make("plain")
    answer = flat.ask("GET", flat.schemas(), params={"parentSchema": "plain"})
    assert refused(answer) == UNSUPPORTED
    assert "hierarchical" in message(answer)
    store.transact(settings.store, {settings.POLICY: "unrestricted"})
    try:
        assert flat.create("a:b").json()["schema"]["name"] == "a:b"
        assert flat.list() == "a:b,plain"
        assert flat.ask("GET", flat.schemas("a:b")).json()["schema"]["name"] == "a:b"
        owner = flat.ask("GET", f"/owners/schema/{flat.catalog}.a%3Ab").json()
        assert owner == {"code": 0, "owner": {"name": "admin", "type": "user"}}
        assert flat.ask("DELETE", flat.schemas("a:b")).json()["dropped"]
    finally:
        store.transact(settings.store, {settings.POLICY: "restricted"})


def test_a_dot_in_a_full_name_is_escaped(nested: Asker) -> None:
    nested.make("A.x:B")
    columns = [{"name": "a", "type": "long"}]
    assert nested.ask("POST", nested.schemas("A.x:B", "tables"), {"name": "t.1", "columns": columns}).is_success
    for type_, name in (("schema", "A%252Ex%3AB"), ("table", "A%252Ex%3AB.t%252E1")):
        path = f"/owners/{type_}/{nested.catalog}.{name}"
        assert nested.ask("GET", path).json()["owner"]["name"] == "admin", path
    privileges = [{"name": "select_table", "condition": "allow"}]
    objects = [{"fullName": f"{nested.catalog}.A%2Ex:B.t%2E1", "type": "table", "privileges": privileges}]
    role = f"role-{nested.catalog}"
    assert nested.ask("POST", "/roles", {"name": role, "securableObjects": objects}).is_success
    assert nested.ask("GET", f"/roles/{role}").json()["role"]["securableObjects"] == objects
    for wrong in (
        f"{nested.catalog}.A.x:B",
        nested.catalog,
        f"{nested.catalog}.",
        f".{nested.catalog}",
        "..",
        "a%zz.b",
    ):
        answer = nested.ask("POST", "/roles", {"name": "r", "securableObjects": [{**objects[0], "fullName": wrong}]})
        assert refused(answer) in (ILLEGAL, (404, 1003, "NoSuchMetadataObjectException")), wrong


def test_a_slash_in_a_name(nested: Asker) -> None:
    assert nested.create("a/b:c").json()["schema"]["name"] == "a/b:c"
    assert nested.ask("GET", nested.schemas("a/b:c")).json()["schema"]["name"] == "a/b:c"
    assert nested.list("a/b") == "a/b:c"


def test_a_name_that_is_no_utf_8(nested: Asker) -> None:
    answer = nested.client.get(f"/api/metalakes/lanceway/catalogs/{nested.catalog}/schemas/%ff")
    assert refused(answer) == ILLEGAL


def test_a_flat_catalog_nests_after_a_scan_that_names_conflicts_and_separators(
    own: Lanceway, store: LakeStore, flat: Asker
) -> None:
    """The migration guard of nested mode, as the API and the command line have it."""
    nest = {"updates": [{"@type": "setProperty", "property": "nested", "value": "true"}]}
    store.transact(settings.store, {settings.POLICY: "unrestricted"})
    try:
        assert flat.create("a:b").status_code == 200
        conflict = flat.ask("PUT", f"/catalogs/{flat.catalog}", nest)
        assert refused(conflict) == ILLEGAL
        assert "['a:b']" in message(conflict)
        assert "';'" in message(conflict), "a separator that would do"
        assert flat.ask("GET", f"/catalogs/{flat.catalog}").json()["catalog"]["properties"]["nested"] == "false"
        assert flat.ask("DELETE", flat.schemas("a:b")).status_code == 200
        assert flat.ask("PUT", f"/catalogs/{flat.catalog}", nest).status_code == 200
        flat.make("a", "a:b")
        assert flat.list("a") == "a:b"
    finally:
        store.transact(settings.store, {settings.POLICY: "restricted"})
