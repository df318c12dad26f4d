"""What is hidden and what is missing answer alike: every answer is the same where the hidden objects do not exist.

Two exceptions follow from what the operations are for. Below a denial of the caller's own it is told so, and who may
make something in a place that it does not see learns by the conflict that the name is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import strategies as st

from lanceway.access.guard import Guard
from lanceway.access.principal import Principal
from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.errors import LanceNamespaceError, NamespaceNotFoundError, PermissionDeniedError
from lanceway.identifiers import HierarchicalName
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import LakeStore, open_store
from tests.access.model import OWNERS, ROLES, Entry, Model, Path, Worlds, worlds
from tests.access.rights_helpers import ME, World, make_world
from tests.access.test_model import Real, asked, leaves
from tests.access.test_truth_table import CASES, CREATES, LISTS, LOADS, TREE, Case
from tests.drilling import DrillProgress
from tests.new_lakes import new_lake

# -- worlds --------------------------------------------------------------------------------------


def mine(world: Worlds) -> set[Path]:
    """What the caller was granted, denied or given: it knows of these by its own rights."""
    named = {entry.target for entry in world.entries if ROLES[entry.role]}
    return named | {target for target, owner in world.owners.items() if OWNERS[owner]}


def hidden(world: Worlds) -> set[Path]:
    """The namespaces and tables, by their paths in the catalog, that the caller cannot know of."""
    model, known = Model(world), [target[2:] for target in mine(world)]

    def is_known(path: Path) -> bool:
        return any(each[: len(path)] == path for each in known)

    spaces = {path for path in world.spaces if not model.shown(path) and not is_known(path)}
    tables = {
        path for path in world.tables if not is_known(path) and not model.table(path, "SELECT_TABLE", "MODIFY_TABLE")
    }
    return spaces | tables


def without(world: Worlds, gone: set[Path]) -> Worlds:
    """The world in which some objects do not exist, nor what is inside them."""

    def stays(target: Path) -> bool:
        return not any(target[2 : 2 + length] in gone for length in range(1, len(target)))

    return Worlds(
        tuple(path for path in world.spaces if stays((*"mc", *path))),
        tuple(path for path in world.tables if stays((*"mc", *path))),
        {target: owner for target, owner in world.owners.items() if stays(target)},
        tuple(entry for entry in world.entries if stays(entry.target)),
    )


# -- questions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """An operation on a path of the catalog."""

    operation: str
    path: Path
    limit: int | None = None
    name: str = ""


def reads(world: Worlds) -> Iterator[Ask]:
    """Everything that one can look at, by names that are there and names that are not."""
    for path in asked(world):
        for operation in ("describe_namespace", "namespace_exists", "list_schemas"):
            yield Ask(operation, path)
        for operation in ("list_namespaces", "list_tables", "list_all_tables", "fast list_tables"):
            for limit in (None, 1):
                yield Ask(operation, path, limit)
    for path in (*leaves(world), *(path for path in world.spaces)):
        for operation in ("describe_table", "table_exists", "list_table_versions", "fast describe_table"):
            yield Ask(operation, path)
        yield Ask("get_table_tag_version", path, name="none")


def refusals(world: Worlds, bare: Worlds) -> Iterator[Ask]:
    """Every change that the caller may not make, whether something is hidden or not: the reasons must be the same."""
    models = Model(world), Model(bare)
    for path in asked(world)[1:]:
        for inside in (path, (*path, "zz")):
            if not any(model.create(inside) for model in models):
                yield Ask("create_namespace", inside)
                yield Ask("create_namespaces", inside)
        if not any(model.own_space(path) for model in models):
            for operation in ("drop_namespace", "drop_schema", "alter_namespace"):
                yield Ask(operation, path)
        if not any(model.table((*path, "s")) or model.load(path) for model in models):
            for operation in ("declare_table", "drop_table", "rename_table", "create_table_tag"):
                yield Ask(operation, (*path, "s"))


WRITES = (
    "create_namespace",
    "create_namespaces",
    "declare_table",
    "drop_table",
    "drop_namespace",
    "drop_schema",
    "alter_namespace",
    "rename_table",
    "deregister_table",
    "create_table_tag",
    "refresh_materialized_view",
)
_KEYS = {"rename_table": ("new_table_name",), "create_table_tag": ("tag",), "get_table_tag_version": ("tag",)}
_CREATING = ("create_namespace", "create_namespaces", "declare_table")


class Tree:
    """A world, and what its caller is answered."""

    def __init__(self, store: LakeStore, world: Worlds, folder: File) -> None:
        self.real = Real(store, world, beside=True)
        self.tree = FederatedCatalog({}, OwnLake(store, metalake=self.real.metalake, warehouse=str(folder)))
        caller = self.real.caller
        self.guard: Any = Guard(self.tree, store, self.real.metalake, Principal(caller.user, caller.groups))

    def answer(self, ask: Ask) -> object:
        """The whole answer, of lists all pages with their sizes; or the error with its text."""
        try:
            return self._said(list(self._ask(ask)))
        except LanceNamespaceError as error:
            return type(error).__name__, self._said(str(error))

    def _said(self, value: object) -> str:
        # Locations are drawn at random.
        return re.sub("[0-9a-f]{32}", "<drawn>", str(value)).replace(self.real.metalake, "<metalake>")

    def _ask(self, ask: Ask) -> Iterator[object]:
        id_ = ["c", *ask.path]
        if ask.operation.startswith("fast "):
            operation = ask.operation.removeprefix("fast ")
            yield self.guard.try_fast(operation, id_, {"id": id_, "limit": ask.limit})
        elif ask.operation.startswith("list_") and ask.operation.endswith(("namespaces", "tables")):
            yield from self._pages(ask, id_)
        elif ask.operation in ("list_schemas", "create_namespaces", "drop_schema", "alter_namespace"):
            written = f"c.{HierarchicalName(ask.path).format(':')}" if ask.path else "c"
            yield getattr(self.guard, ask.operation)(written, *([{"note": "x"}] if "alter" in ask.operation else []))
        else:
            more = dict.fromkeys(_KEYS.get(ask.operation, ()), ask.name or "none")
            version = {"version": 1} if ask.operation == "create_table_tag" else {}
            yield getattr(self.guard, ask.operation)({"id": id_, **more, **version})

    def _pages(self, ask: Ask, id_: Sequence[str]) -> Iterator[object]:
        token = None
        while True:
            page = getattr(self.guard, ask.operation)({"id": list(id_), "limit": ask.limit, "page_token": token})
            token = page.page_token
            yield page.namespaces if ask.operation == "list_namespaces" else page.tables, token is None
            if token is None:
                return


_asks = st.lists(
    st.tuples(st.sampled_from(WRITES), st.integers(0, 30), st.sampled_from(("", "s", "zz"))), min_size=5, max_size=15
)


def test_hidden_and_missing_answer_alike(tmp_path: File, rounds: int, progress: DrillProgress) -> None:
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    hiding: list[int] = []

    def alike(drawn: tuple[Worlds, Any]) -> None:
        world, writes = replace(drawn[0], admin=False), drawn[1]
        gone = hidden(world)
        hiding.append(len(gone))
        if not gone:
            return
        bare = without(world, gone)
        whole, other = Tree(store, world, tmp_path), Tree(store, bare, tmp_path)
        for ask in (*reads(world), *refusals(world, bare)):
            assert whole.answer(ask) == other.answer(ask), ask
        places = [*leaves(world), *asked(world)[1:]]
        for operation, number, name in writes:
            ask = Ask(operation, places[number % len(places)], name=name)
            if operation in _CREATING and is_told(world, bare, gone, ask):
                continue
            assert whole.answer(ask) == other.answer(ask), ask

    progress.explore(6 * rounds, st.tuples(worlds(), _asks), alike)
    assert sum(map(bool, hiding)) > len(hiding) / 3, "most worlds hide nothing"
    store.close()


def is_told(world: Worlds, bare: Worlds, gone: set[Path], ask: Ask) -> bool:
    """Whether the caller may make something where hidden objects are: it meets them, as the second exception says."""
    if not any(ask.path[:length] in gone for length in range(1, len(ask.path) + 1)):
        return False
    if ask.operation == "declare_table":
        return Model(world).load(ask.path[:-1])
    return Model(world).create(ask.path) or Model(bare).create(ask.path)


def test_the_first_exception_is_below_a_denial(tmp_path: File) -> None:
    """The caller's own denial is named, where the same name elsewhere would be missing."""
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    catalog = ("<metalake>", "<catalog>")
    entries = (
        Entry("own", "USE_CATALOG", catalog, False),
        Entry("own", "USE_SCHEMA", catalog, False),
        Entry("own", "USE_SCHEMA", (*catalog, "a"), True),
    )
    tree = Tree(store, Worlds((("a",), ("b",)), (), {}, entries), tmp_path)
    assert "USE_SCHEMA is denied on the schema a" in str(tree.answer(Ask("describe_namespace", ("a",))))
    assert "NamespaceNotFoundError" in str(tree.answer(Ask("describe_namespace", ("zz",))))
    assert tree.answer(Ask("list_namespaces", ())) == "[(['b'], True)]"
    store.close()


# -- the truth table, through the guard ----------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_table_through_the_guard(tmp_path: File, case: Case) -> None:
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    world = make_world(store, "m", TREE)
    _grant(world, case)
    tree = FederatedCatalog({}, OwnLake(store, metalake="m", warehouse=str(tmp_path)))
    guard: Any = Guard(tree, store, "m", Principal(ME.user))

    def names(path: str) -> list[str]:
        return ["lake", *(path.split(":") if path else ())]

    def status(call: Any, *arguments: Any) -> str:
        try:
            call(*arguments)
        except PermissionDeniedError:
            return "403"
        except NamespaceNotFoundError:
            return "404"
        return "200"

    def listed(path: str) -> str:
        failed = status(guard.list_namespaces, {"id": names(path)})
        if failed != "200":
            return failed
        found = [":".join([*names(path)[1:], each]) for each in guard.list_namespaces({"id": names(path)}).namespaces]
        assert guard.list_schemas(f"lake.{path}" if path else "lake") == [f"lake.{each}" for each in found]
        return ",".join(found) or "-"

    assert " ".join(listed(path) for path in LISTS) == case.lists
    assert " ".join(status(guard.describe_namespace, {"id": names(path)}) for path in LOADS) == case.loads
    assert status(guard.alter_namespace, "lake.A:B:C", {"note": "x"}) == case.owns
    assert status(guard.drop_schema, "lake.A:B:C") == case.owns
    if case.owns == "403":
        assert status(guard.drop_namespace, {"id": names("A:B:C")}) == "403"
    assert " ".join(_created(guard, world, path, status) for path in CREATES) == case.creates
    tree.close()
    store.close()


def _created(guard: Any, world: World, path: str, status: Any) -> str:
    """What making a namespace is answered, which is taken away again, with what was made above it."""
    before = status(guard.create_namespaces, f"lake.{path}")
    names = path.split(":")
    while before == "200" and names and ":".join(names) not in TREE:
        admin: Any = Guard(guard._tree, world.store, world.metalake, Principal("admin", admin=True))
        admin.drop_schema(["lake", *names])
        names.pop()
    return str(before)


def _grant(world: World, case: Case) -> None:
    for entries, deny in ((case.grants, False), (case.denials, True)):
        for privilege, path in entries:
            world.grant("r", path, privilege, deny=deny)
    for path in case.owned:
        world.own(path, Owner(ME.user))
