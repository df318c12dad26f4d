"""The truth table of nested schemas, asked over HTTP: who lists, loads, creates and alters what."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from lanceway.identifiers import HierarchicalName
from lanceway.lake import users
from lanceway.lake.access import grants, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.server.home import METALAKE
from tests.access.test_truth_table import CASES, CREATES, LISTS, LOADS, TREE, Case
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog, new_token, refused
from tests.servers.lanceway import Lanceway


@pytest.fixture(scope="module")
def store(server: Lanceway) -> Iterator[LakeStore]:
    opened = lake_of(server)
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_table(server: Lanceway, store: LakeStore, case: Case) -> None:
    catalog, user = new_catalog(store, server), f"u{uuid.uuid4().hex[:10]}"
    with asking(server, server.token, catalog) as admin:
        admin.make(*TREE)
    store.transact(give, catalog, user, case)
    with asking(server, new_token(store, user), catalog) as me:
        assert " ".join(me.list(path or None) for path in LISTS) == case.lists
        assert " ".join(_load(me, path) for path in LOADS) == case.loads
        assert " ".join(str(me.create(path).status_code) for path in CREATES) == case.creates
        update = {"@type": "setProperty", "property": "a", "value": "b"}
        altered = me.ask("PUT", me.schemas("A:B:C"), {"updates": [update]})
        assert str(altered.status_code) == case.owns
        dropped = me.ask("DELETE", me.schemas("A:B:C"), params={"cascade": "False"})
        assert str(dropped.status_code) == case.owns


def _load(me: Asker, path: str) -> str:
    answer = me.ask("GET", me.schemas(path))
    if answer.is_error:
        types = {(403, 1008, "ForbiddenException"), (404, 1003, "NoSuchSchemaException")}
        assert refused(answer) in types
    return str(answer.status_code)


def give(connection: Connection, catalog: str, user: str, case: Case) -> None:
    role = f"role-of-{user}"

    def place(path: str) -> Securable:
        return Securable(METALAKE, catalog, HierarchicalName.parse(path))

    users.create(connection, user, by="admin")
    roles.create(connection, METALAKE, role, by="admin")
    roles.give(connection, METALAKE, role, user, by="admin")
    changes = [
        *(GrantChange(role, place(path), privilege) for privilege, path in case.grants),
        *(GrantChange(role, place(path), privilege, deny=True) for privilege, path in case.denials),
    ]
    grants.apply(connection, METALAKE, changes, by="admin")
    for path in case.owned:
        owners.change_owner(connection, place(path), Owner(user), by="admin")
