"""No function of the lake changes rows and leaves no event, but those that are named here, each with its reason."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

from sqlalchemy.sql.dml import UpdateBase

import lanceway.lake.access
import lanceway.lake.runs
import lanceway.lake.tree
import lanceway.lake.versions
from lanceway.lake import tokens, users
from lanceway.lake.feed.types import TYPES
from lanceway.lake.store.rows import ConditionalInsert, Insert
from tests.paths import REPOSITORY

ROOMS = (lanceway.lake.tree, lanceway.lake.versions, lanceway.lake.access, lanceway.lake.runs)
RECORDS = re.compile(r"outbox\.|\b_record\w*\(|securables\.record\(|\b_end\(|\b_create_branch\(")
CALLER, FOLLOWS, INSIDE = "its only callers record it", "storage or a service is followed", "nothing that is shown"
SILENT = {
    "tree.catalogs": {"drop_tree": "nesting records all of the tree", "_insert": CALLER},
    "tree.clones": {"record": "the table was recorded as cloned", "leave": "the tables are recorded"},
    "tree.definitions": {
        **dict.fromkeys(("adopt", "copy"), "definitions that were there already"),
        **dict.fromkeys(("remove", "drop", "rename"), "_delete records it"),
    },
    "tree.locations": dict.fromkeys(("record", "done", "retire", "reuse"), INSIDE),
    "tree.mounts": {"reseal": "secrets stay what they are", "rename_jobs": CALLER},
    "tree.settings": dict.fromkeys(
        ("identity", "page_key", "require_writable", "store", "renew_mounts_revision"), "settings of the lake"
    ),
    "tree.tables": {"mark_adopted": INSIDE, "_insert": CALLER},
    "versions.checks": dict.fromkeys(("record", "forget"), "manifests that are no versions"),
    "versions.refs": {
        **dict.fromkeys(("adopt_tags", "adopt_branches"), "names that were there already"),
        **dict.fromkeys(("forget_tags", "forget_branches"), "the table is altered: storage has them alone"),
        **dict.fromkeys(("mark_tag_written", "forget_tag", "complete_branch", "forget_branch"), FOLLOWS),
    },
    "versions.versions": {"mark_copied": FOLLOWS, "claim_in_one_statement": "its statement records it"},
    "access.audit": dict.fromkeys(("write", "purge"), "the audit is a record itself"),
    "access.grants": dict.fromkeys(("_grant", "_revoke"), CALLER),
    "access.securables": dict.fromkeys(
        ("ensure", "lapse", "lapse_row", "identify", "forget_identity", "_lapse_where", "rename"), FOLLOWS
    ),
    "runs.jobs": {"renew": "a lease", "forget": "jobs that have ended long ago"},
    "runs.leases": dict.fromkeys(("ensure", "take", "renew", "release"), "a lease"),
    "runs.runs": dict.fromkeys(("change", "plan", "end_step", "_change_step"), "steps of a run"),
    "runs.source_files": {"note": "files of a run"},
    "users": {"move_belongings": "the user is renamed or deleted, and owners are recorded"},
    "tokens": {"touch": "a use, and no change", "issue": "its token is recorded by _create"},
}


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        for found in pkgutil.iter_modules(room.__path__):
            yield importlib.import_module(f"{room.__name__}.{found.name}")
    yield from (users, tokens)


def writes(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(writes, value.values()))
    return isinstance(value, UpdateBase | Insert | ConditionalInsert)


def silent(module: ModuleType) -> set[str]:
    """Return the functions of a module that change rows and record nothing."""
    statements = {name for name, value in vars(module).items() if writes(value)} | {"insert", "update", "delete"}
    found = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "connection":
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if names & statements and not RECORDS.search(ast.unparse(node)):
                found.add(node.name)
    return found


def test_who_changes_rows_records_an_event_or_is_named_here() -> None:
    found = {module.__name__.removeprefix("lanceway.lake."): silent(module) for module in modules()}
    assert {name: names for name, names in found.items() if names} == {name: set(why) for name, why in SILENT.items()}


def test_the_guide_names_every_type() -> None:
    page = (REPOSITORY / "docs" / "guide" / "events.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z]+\.[a-z]+)` \| (.*) \|$", page, re.MULTILINE))
    assert rows == dict(TYPES)
