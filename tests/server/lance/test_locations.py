"""Where those who ask a server may have tables: below what it allows, whatever way they ask."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lance
import pytest

from tests.server.server_helpers import ask, refused, space, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@dataclass(frozen=True)
class Served:
    """A server with a folder mounted beside its lake; `user` is not an admin, and may have tables below `allowed`."""

    admin: Lanceway
    user: Lanceway
    allowed: Path
    elsewhere: Path

    @property
    def warehouse(self) -> Path:
        return self.admin.home / "warehouse"


def _served(run: Run, folder: Path, **options: Any) -> Served:
    for name in ("allowed", "elsewhere", "mounted"):
        (folder / name).mkdir()
    mounted = f'[catalogs.archive]\ntype = "dir"\npath = "{folder / "mounted"}"\nlayout = "manifest"\n'
    admin = lanceway.start(run, settings=mounted, **options)
    user = replace(admin, token=admin.token_for("somebody"))
    return Served(admin, user, folder / "allowed", folder / "elsewhere")


@pytest.fixture(scope="module")
def served(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that is told nothing of locations, so that the warehouse alone is allowed."""
    made = _served(whole_run, tmp_path_factory.mktemp("served"))
    yield made
    assert made.admin.stop() == 0


@pytest.fixture(scope="module")
def told(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that is told by its environment."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "link").symlink_to(folder / "allowed")
    allowed = f"{folder / 'link'}, s3://bucket/tables"
    made = _served(whole_run, folder, environment={"LANCEWAY_ALLOWED_LOCATIONS": allowed})
    yield made
    assert made.admin.stop() == 0


def victim(folder: Path) -> Path:
    """A folder that is nobody's business."""
    made = folder / uuid.uuid4().hex
    made.mkdir()
    (made / "thesis.txt").write_text("years of work")
    return made


def test_a_location_elsewhere_is_refused_whatever_is_there(served: Served) -> None:
    inside = space(served.user)
    filled = victim(served.elsewhere)
    lance.write_dataset(table(1), served.elsewhere / "data.lance")
    for number, location in enumerate((filled, served.elsewhere / "data.lance", served.elsewhere / "nothing")):
        for verb in ("declare", "register"):
            answer = ask(served.user, "table", [*inside, f"t{number}"], verb, {"location": str(location)})
            assert refused(answer) == (403, 15)
            told = answer.json()["error"]
            assert str(location) in told
            assert str(served.warehouse) in told
            assert "allowed_locations" in told
        operations = [{"declare_table": {"id": [*inside, f"t{number}"], "location": str(location)}}]
        answer = served.user.ask("POST", "table/batch-commit", {"operations": operations})
        assert refused(answer) == (403, 15)
    assert (filled / "thesis.txt").exists()
    assert ask(served.user, "namespace", inside, "table/list").json()["tables"] == []


@pytest.mark.parametrize(
    "location",
    [
        "s3://bucket/x",
        "https://127.0.0.1:9/x",
        "memory://x/y",
        "{warehouse}-not/x",
        "{warehouse}",
        "file://{elsewhere}/x",
    ],
)
def test_no_scheme_and_no_place_but_those_below_is_asked(served: Served, location: str) -> None:
    wanted = location.format(warehouse=served.warehouse, elsewhere=served.elsewhere)
    answer = ask(served.user, "table", [*space(served.user), "t"], "declare", {"location": wanted})
    assert refused(answer) == (403, 15)


@pytest.mark.parametrize("location", ["{warehouse}/../x", "{warehouse}/%2e%2e/x", "/proc/self/root{warehouse}/x", "x"])
def test_what_leaves_a_location_is_none(served: Served, location: str) -> None:
    given = location.format(warehouse=served.warehouse)
    wanted = f"file://{given}" if "%" in given else given
    answer = ask(served.user, "table", [*space(served.user), "t"], "declare", {"location": wanted})
    assert refused(answer) == (400, 13)


def test_a_link_is_where_it_leads(served: Served) -> None:
    link = served.warehouse / "way-out"
    served.warehouse.mkdir(exist_ok=True)
    link.symlink_to(served.elsewhere)
    answer = ask(served.user, "table", [*space(served.user), "t"], "declare", {"location": f"{link}/t"})
    assert refused(answer) == (403, 15)


def test_an_admin_may_go_elsewhere_and_deletes_nothing_that_was_there(served: Served) -> None:
    inside, filled = space(served.user), victim(served.elsewhere)
    answer = ask(served.admin, "table", [*inside, "t"], "declare", {"location": str(filled)})
    assert refused(answer) == (400, 13)
    free = served.elsewhere / uuid.uuid4().hex
    assert ask(served.admin, "table", [*inside, "t"], "declare", {"location": str(free)}).status_code == 200
    assert ask(served.user, "table", [*inside, "t"], "drop").status_code == 200
    assert (filled / "thesis.txt").exists()


def test_below_the_warehouse_a_location_may_be_chosen(served: Served) -> None:
    id_ = [*space(served.user), "t"]
    location = served.warehouse / "chosen" / uuid.uuid4().hex
    assert ask(served.user, "table", id_, "declare", {"location": str(location)}).status_code == 200


def test_other_locations_are_allowed_by_the_setting(told: Served) -> None:
    inside = space(told.user)
    assert ask(told.user, "table", [*inside, "t"], "declare", {"location": f"{told.allowed}/t"}).status_code == 200
    for location in (f"{told.warehouse}/t", "s3://bucket/tabl", "s3://other/tables/t", "s3://bucket/tables/../x"):
        answer = ask(told.user, "table", [*inside, "u"], "declare", {"location": location})
        assert refused(answer) in ((403, 15), (400, 13)), location


def test_mounted_catalogs_are_asked_for_no_other_place_either(served: Served) -> None:
    lance.write_dataset(table(1, 2), served.elsewhere / "theirs.lance")
    for location in (served.elsewhere / "theirs.lance", served.warehouse / "lake" / "x"):
        answer = ask(served.user, "table", ["archive", "t"], "register", {"location": str(location)})
        assert refused(answer) == (403, 15)
    mounted = served.elsewhere.parent / "mounted"
    lance.write_dataset(table(1, 2), mounted / "ours")
    for number, location in enumerate(("ours", str(mounted / "ours"))):
        answer = ask(served.user, "table", ["archive", f"t{number}"], "register", {"location": location})
        assert answer.status_code == 200, answer.text
        assert ask(served.user, "table", ["archive", f"t{number}"], "deregister").status_code == 200


def test_a_setting_that_is_no_location_is_told_at_the_start(whole_run: Run) -> None:
    with pytest.raises(RuntimeError, match="allowed_locations cannot be used"):
        lanceway.start(whole_run, arguments=("--allowed-locations", "/proc/self/root"))
