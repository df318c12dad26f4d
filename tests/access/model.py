"""A model of access control that is nothing but its definition, and worlds to compare it with the real one.

It is written to be read, not to be fast: sets of what is granted, walks over whole trees, no look-ups, no pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from lanceway.access.privileges import PRIVILEGES

Path = tuple[str, ...]
# What is granted or owned: the metalake and the catalog by these paths, all else by its names below the catalog.
METALAKE: Path = ("<metalake>",)
CATALOG: Path = ("<metalake>", "<catalog>")

# One that must be encoded, that sorts differently when it is, and that another one begins with.
NAMES = ("a", "a.b", "a%", "b")
LEAVES = ("s", "t")
# How the caller has each role: itself, by a group of its issuer, by a group of the lake, not at all.
ROLES = {"own": True, "claimed": True, "local": True, "foreign": False}
OWNERS = {
    ("user", "me"): True,
    ("group", "claimed"): True,
    ("group", "local"): True,
    ("group", "me"): False,
    ("user", "claimed"): False,
    ("user", "admin"): False,
}
_CHECKED = ("USE_CATALOG", "USE_SCHEMA", "CREATE_SCHEMA", "BOOTSTRAP_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
_OTHER = ("CREATE_TABLE", "MANAGE_GRANTS", "SELECT_VIEW")
_WHERE = {privilege.name: privilege.levels for privilege in PRIVILEGES}


@dataclass(frozen=True)
class Entry:
    """A grant or a denial to a role."""

    role: str
    privilege: str
    target: Path
    deny: bool


@dataclass(frozen=True)
class Worlds:
    """A tree, who owns what in it, and what is granted."""

    spaces: tuple[Path, ...]
    tables: tuple[Path, ...]
    owners: dict[Path, tuple[str, str]]
    entries: tuple[Entry, ...]
    admin: bool = False
    extra: tuple[Entry, ...] = field(default=())

    @property
    def targets(self) -> list[Path]:
        return [METALAKE, CATALOG, *(CATALOG + path for path in (*self.spaces, *self.tables))]

    def level(self, target: Path) -> str:
        if target in (METALAKE, CATALOG):
            return "metalake" if target == METALAKE else "catalog"
        return "schema" if target[2:] in self.spaces else "table"


@st.composite
def worlds(draw: st.DrawFn) -> Worlds:
    spaces: list[Path] = []
    for parent, name in draw(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(NAMES)), min_size=2, max_size=8)):
        path = (*((), *spaces)[parent % (len(spaces) + 1)], name)
        if path not in spaces:
            spaces.append(path)
    places = [(), *spaces]
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(places), st.sampled_from(LEAVES)), min_size=1, max_size=5, unique=True)
    )
    tables = tuple((*parent, leaf) for parent, leaf in chosen)
    bare = Worlds(tuple(spaces), tables, {}, ())
    owners = draw(st.dictionaries(st.sampled_from(bare.targets[1:]), st.sampled_from(sorted(OWNERS)), max_size=3))
    if draw(st.integers(0, 9)) == 0:
        owners[METALAKE] = draw(st.sampled_from(sorted(OWNERS)))
    entries = draw(st.lists(entry(bare), max_size=8, unique=True))
    if draw(st.booleans()):
        entries += draw(around_space(bare, owners))
    if draw(st.booleans()):
        entries += draw(around_table(bare))
    # Nearly all is closed without it, and such worlds are all alike.
    if draw(st.integers(0, 3)):
        entries.insert(0, Entry("own", "USE_CATALOG", CATALOG, False))
    extra = draw(st.lists(entry(bare), min_size=1, max_size=2, unique=True))
    unique = tuple(dict.fromkeys(entries))
    return Worlds(
        tuple(spaces), tables, owners, unique, draw(st.integers(0, 19)) == 0, tuple(e for e in extra if e not in unique)
    )


@st.composite
def around_space(draw: st.DrawFn, world: Worlds, owners: dict[Path, tuple[str, str]]) -> list[Entry]:
    """What chance alone makes too rarely: a namespace granted above, denied further down, owned or granted below."""
    deepest = CATALOG + draw(st.sampled_from(world.spaces))
    high, low = sorted(draw(st.tuples(*[st.integers(2, len(deepest))] * 2)))
    if draw(st.booleans()):
        owners[deepest] = draw(st.sampled_from(sorted(OWNERS)))
    lengths = {"allow": high, "deny": low, "again": len(deepest)}
    chosen = draw(st.sets(st.sampled_from(sorted(lengths)), min_size=1))
    return [Entry("own", "USE_SCHEMA", deepest[: lengths[each]], each == "deny") for each in sorted(chosen)]


@st.composite
def around_table(draw: st.DrawFn, world: Worlds) -> list[Entry]:
    """A table in a namespace that one may use, with grants and denials on both."""
    table = CATALOG + draw(st.sampled_from(world.tables))
    use = [Entry("own", "USE_SCHEMA", CATALOG, False)] if draw(st.booleans()) else []
    choices = [
        Entry("own", privilege, target, deny)
        for privilege in ("SELECT_TABLE", "MODIFY_TABLE")
        for target in (table[:-1], table)
        for deny in (False, True)
    ]
    return use + draw(st.lists(st.sampled_from(choices), min_size=1, max_size=4, unique=True))


@st.composite
def entry(draw: st.DrawFn, world: Worlds) -> Entry:
    target = draw(st.sampled_from(world.targets))
    level = world.level(target)
    names = [name for name in (*_CHECKED * 2, *_OTHER) if level in _WHERE[name]]
    role = draw(st.sampled_from(("own", "own", *ROLES)))
    return Entry(role, draw(st.sampled_from(names)), target, draw(st.integers(0, 3)) == 0)


class Model:
    """What the caller may do in a world."""

    def __init__(self, world: Worlds, *, more: tuple[Entry, ...] = ()) -> None:
        self.world = world
        self.granted: dict[str, set[Path]] = {}
        self.denied: dict[str, set[Path]] = {}
        for each in (*world.entries, *more):
            if ROLES[each.role]:
                kind = self.denied if each.deny else self.granted
                kind.setdefault(each.privilege, set()).add(each.target)
        self.owned = {target for target, owner in world.owners.items() if OWNERS[owner]}

    # The path of what is asked about begins below the catalog.

    def has(self, privilege: str, path: Path) -> bool:
        above = [(CATALOG + path)[: length + 1] for length in range(len(path) + 2)]
        there = [target for target in above if target in self.world.targets]
        if any(target in self.denied.get(privilege, ()) for target in there):
            return False
        return any(target in self.granted.get(privilege, ()) for target in there)

    def is_refused(self, privilege: str, path: Path) -> bool:
        return any((CATALOG + path)[:n] in self.denied.get(privilege, ()) for n in range(1, len(path) + 3))

    def rules_all(self) -> bool:
        return self.world.admin or METALAKE in self.owned or CATALOG in self.owned

    def owns_space(self, path: Path) -> bool:
        return any(CATALOG + path[:n] in self.owned for n in range(1, len(path) + 1) if path[:n] in self.world.spaces)

    def enters(self, path: Path = ()) -> bool:
        return self.has("USE_CATALOG", ())

    def use(self) -> bool:
        return self.rules_all() or self.enters()

    def own_space(self, path: Path) -> bool:
        return self.rules_all() or (self.owns_space(path) and self.enters())

    def load(self, path: Path) -> bool:
        return self.own_space(path) or (self.enters() and self.has("USE_SCHEMA", path))

    def create(self, path: Path) -> bool:
        parent = path[:-1]
        if self.rules_all() or self.owns_space(parent):
            return True
        if self.enters() and self.has("CREATE_SCHEMA", parent):
            return True
        is_missing = bool(parent) and parent not in self.world.spaces
        return (
            is_missing
            and self.enters()
            and self.has("BOOTSTRAP_SCHEMA", ())
            and not self.is_refused("CREATE_SCHEMA", parent)
        )

    def table(self, path: Path, *privileges: str) -> bool:
        parent = path[:-1]
        if self.own_space(parent):
            return True
        if not (self.enters() and self.has("USE_SCHEMA", parent)):
            return False
        is_owner = path in self.world.tables and CATALOG + path in self.owned
        return is_owner or any(self.has(privilege, path) for privilege in privileges)

    # -- lists -----------------------------------------------------------------------------------

    def below(self, path: Path) -> Iterator[Path]:
        return (each for each in self.world.spaces if each[: len(path)] == path)

    def shown(self, path: Path) -> bool:
        return any(self.load(each) for each in self.below(path))

    def spaces_in(self, path: Path) -> list[str] | str:
        if not self.use():
            return "403"
        if path and path not in self.world.spaces:
            return "404" if self.load(path[:-1]) and (path[:-1] or self.sees_root()) else []
        return sorted(each[-1] for each in self.world.spaces if each[:-1] == path and self.shown(each))

    def sees_root(self) -> bool:
        return self.rules_all() or (self.enters() and self.has("USE_SCHEMA", ()))

    def tables_in(self, path: Path) -> list[str] | str:
        if not (self.load(path) if path else self.use()):
            return "403"
        if path and path not in self.world.spaces:
            return "404"
        tables = (each for each in self.world.tables if each[:-1] == path)
        return sorted(each[-1] for each in tables if self.table(each, "SELECT_TABLE", "MODIFY_TABLE"))
