"""Manifests written by clients: none makes the server read files outside of the table's location with its own keys."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import lance
import pyarrow as pa
import pytest
from lance import Blob, DatasetBasePath, FragmentMetadata, LanceOperation
from lance.blob import blob_array, blob_field

from tests.server.server_helpers import ask, count, created, refused, space, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

Spelling = Callable[[Path], str]

BASES: dict[str, Spelling] = {
    "path": str,
    "uri": lambda folder: f"file://{folder}",
    "other scheme": lambda folder: f"file-object-store://{folder}",
    "upper case": lambda folder: f"FILE://{folder}",
    "host": lambda folder: f"file://localhost{folder}",
    "dots": lambda folder: f"{folder.parent}/other/../{folder.name}",
    "encoded dots": lambda folder: f"file://{folder.parent}/other/%2e%2e/{folder.name}",
    "relative": lambda folder: f"../{folder.name}",
    "bucket": lambda folder: f"s3://bucket{folder}",
    "memory": lambda folder: "memory://elsewhere",
}
FILES: dict[str, Spelling] = {
    "dots": lambda file: f"../../{file.parent.parent.name}/data/{file.name}",
    "absolute": str,
    "uri": lambda file: f"file://{file}",
    "encoded dots": lambda file: f"%2e%2e/%2e%2e/{file.parent.parent.name}/data/{file.name}",
    "backslashes": lambda file: f"..\\..\\{file.parent.parent.name}\\data\\{file.name}",
}


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    started = lanceway.start(whole_run)
    yield started
    assert started.stop() == 0


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A table that the server's account can read, and its users should not."""
    lance.write_dataset(table(100, 200), str(tmp_path / "secret"))
    return tmp_path / "secret"


def _location(server: Lanceway, id_: list[str]) -> Path:
    return Path(ask(server, "table", id_, "describe", {}).json()["location"])


def _staged(location: Path, foreign: Path) -> dict[str, Any]:
    """Stage the latest manifest of another folder as the second version of a table."""
    manifest = min((foreign / "_versions").glob("*.manifest"))
    staged = location / "_versions" / f"staged-{uuid.uuid4().hex}"
    staged.write_bytes(manifest.read_bytes())
    return {"version": 2, "manifest_path": str(staged), "manifest_size": staged.stat().st_size, "naming_scheme": "V2"}


def _with_base(folder: Path, base: str) -> Path:
    """A table that has a base path, and no file there."""
    bases = [DatasetBasePath(base, name="base", is_dataset_root=True, id=1)]
    lance.write_dataset(table(1), str(folder), initial_bases=bases)
    return folder


def _with_file(folder: Path, secret: Path, spelling: Spelling) -> Path:
    """A table with a data file whose path leads to another table's."""
    data = lance.write_dataset(table(1), str(folder))
    fragment = lance.dataset(str(secret)).get_fragments()[0].metadata
    fields = fragment.to_json()
    fields["files"][0]["path"] = spelling(secret / "data" / fragment.files[0].path)
    foreign = FragmentMetadata.from_json(json.dumps(fields))
    lance.LanceDataset.commit(str(folder), LanceOperation.Append([foreign]), read_version=data.version)
    return folder


@pytest.mark.parametrize("spelling", BASES.values(), ids=BASES)
def test_a_claimed_version_names_no_base_path_elsewhere(
    server: Lanceway, secret: Path, tmp_path: Path, spelling: Spelling
) -> None:
    id_ = created(server, 1, 2)
    claim = _staged(_location(server, id_), _with_base(tmp_path / "mine", spelling(secret)))
    answer = ask(server, "table", id_, "version/create", claim)
    assert refused(answer) == (400, 13)
    assert "base path" in answer.json()["error"]
    assert count(server, id_) == 2


def test_a_shallow_clone_made_by_a_client_is_refused(server: Lanceway, secret: Path, tmp_path: Path) -> None:
    lance.dataset(str(secret)).shallow_clone(str(tmp_path / "clone"), 1)
    id_ = created(server, 1, 2)
    claim = _staged(_location(server, id_), tmp_path / "clone")
    assert refused(ask(server, "table", id_, "version/create", claim)) == (400, 13)


@pytest.mark.parametrize("spelling", FILES.values(), ids=FILES)
def test_a_claimed_version_names_no_data_file_elsewhere(
    server: Lanceway, secret: Path, tmp_path: Path, spelling: Spelling
) -> None:
    id_ = created(server, 1, 2)
    claim = _staged(_location(server, id_), _with_file(tmp_path / "mine", secret, spelling))
    answer = ask(server, "table", id_, "version/create", claim)
    assert refused(answer) == (400, 13)
    assert "lead outside" in answer.json()["error"]


def test_nor_in_a_batch(server: Lanceway, secret: Path, tmp_path: Path) -> None:
    foreign = _with_base(tmp_path / "mine", str(secret))
    id_ = created(server, 1, 2)
    claim = {"id": id_, **_staged(_location(server, id_), foreign)}
    for path, body in (
        ("table/version/batch-create", {"entries": [claim]}),
        ("table/batch-commit", {"operations": [{"create_table_version": claim}]}),
    ):
        answer = server.ask("POST", path, body)
        assert refused(answer) == (400, 13)
        assert "base path" in answer.json()["error"]


UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda manifest: b"",
    "noise": lambda manifest: b"no manifest " * 50,
    "cut": lambda manifest: manifest[:-20],
    "only its end": lambda manifest: manifest[-16:],
}


@pytest.mark.parametrize("versioning", ["managed", "storage"])
@pytest.mark.parametrize("broken", UNREADABLE.values(), ids=UNREADABLE)
def test_a_manifest_that_cannot_be_read_is_not_claimed(
    server: Lanceway, broken: Callable[[bytes], bytes], versioning: str
) -> None:
    place = server.home / "warehouse" / uuid.uuid4().hex[:12]
    lance.write_dataset(table(1, 2), str(place))
    id_ = [*space(server), "t"]
    body = {"location": str(place), "properties": {"lanceway.versioning": versioning}}
    assert ask(server, "table", id_, "register", body).status_code == 200
    claim = _staged(place, place)
    staged = Path(claim["manifest_path"])
    staged.write_bytes(broken(staged.read_bytes()))
    answer = ask(server, "table", id_, "version/create", {**claim, "manifest_size": staged.stat().st_size})
    assert refused(answer) == (400, 13)
    assert "cannot be read" in answer.json()["error"]
    assert [each["version"] for each in ask(server, "table", id_, "version/list", {}).json()["versions"]] == [1]
    assert count(server, id_) == 2


@pytest.mark.parametrize("versioning", ["managed", "storage"])
def test_a_table_with_base_paths_elsewhere_is_not_registered(server: Lanceway, secret: Path, versioning: str) -> None:
    place = server.home / "warehouse" / uuid.uuid4().hex[:12]
    _with_base(place, str(secret))
    body = {"location": str(place), "properties": {"lanceway.versioning": versioning}}
    answer = ask(server, "table", [*space(server), "t"], "register", body)
    assert refused(answer) == (400, 13)
    assert "base path" in answer.json()["error"]


def test_what_is_written_to_storage_behind_the_server_is_not_read(server: Lanceway, secret: Path) -> None:
    place = server.home / "warehouse" / uuid.uuid4().hex[:12]
    lance.write_dataset(table(1), str(place))
    id_ = [*space(server), "t"]
    body = {"location": str(place), "properties": {"lanceway.versioning": "storage"}}
    assert ask(server, "table", id_, "register", body).status_code == 200
    assert count(server, id_) == 1
    lance.dataset(str(place)).add_bases([DatasetBasePath(str(secret), name="base", is_dataset_root=True)])
    for verb, request in (("count_rows", {}), ("query", {"k": 10, "vector": {}}), ("stats", {}), ("tags/list", {})):
        answer = ask(server, "table", id_, verb, request)
        assert refused(answer) == (400, 13), verb


def test_a_storage_table_takes_no_such_version(server: Lanceway, secret: Path, tmp_path: Path) -> None:
    place = server.home / "warehouse" / uuid.uuid4().hex[:12]
    lance.write_dataset(table(1), str(place))
    id_ = [*space(server), "t"]
    body = {"location": str(place), "properties": {"lanceway.versioning": "storage"}}
    assert ask(server, "table", id_, "register", body).status_code == 200
    claim = _staged(place, _with_base(tmp_path / "mine", str(secret)))
    assert refused(ask(server, "table", id_, "version/create", claim)) == (400, 13)
    assert count(server, id_) == 1


# -- blobs elsewhere, which a client can write behind the server ---------------------------------

BLOB_URIS: dict[str, Spelling] = {
    "uri": lambda file: f"file://{file}",
    "dots": lambda file: f"file://{file.parent}/other/../{file.name}",
    "other scheme": lambda file: f"file-object-store://{file}",
}


def _with_blobs(server: Lanceway, *uris: str) -> list[str]:
    """A table whose rows have blobs at these places, the last one its own."""
    place = server.home / "warehouse" / uuid.uuid4().hex[:12]
    blobs = blob_array([*map(Blob.from_uri, uris), b"own"])
    rows = pa.table([blobs], schema=pa.schema([blob_field("picture")]))
    lance.write_dataset(rows, str(place), data_storage_version="2.2", allow_external_blob_outside_bases=True)
    id_ = [*space(server), "t"]
    body = {"location": str(place), "properties": {"lanceway.versioning": "storage"}}
    assert ask(server, "table", id_, "register", body).status_code == 200
    return id_


def _fetched(server: Lanceway, id_: list[str], *rows: int) -> httpx.Response:
    headers = {"x-lancedb-database": id_[0]}
    body = {"column": "picture", "row_ids": rows}
    return server.ask("POST", f"table/{'$'.join(id_[1:])}/fetch_blobs/", body, headers=headers)


@pytest.mark.parametrize("spelling", BLOB_URIS.values(), ids=BLOB_URIS)
def test_a_blob_elsewhere_is_not_read(server: Lanceway, tmp_path: Path, spelling: Spelling) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("secret")
    id_ = _with_blobs(server, spelling(file))
    ranged = server.ask(
        "GET",
        f"table/{'$'.join(id_[1:])}/blob/picture/0/bytes",
        headers={"x-lancedb-database": id_[0], "range": "bytes=0-5"},
    )
    for answer in (ranged, _fetched(server, id_, 0), _fetched(server, id_, 1, 0)):
        assert refused(answer) == (400, 13)
        assert "blobs outside of its location" in answer.json()["error"]
    own = _fetched(server, id_, 1)
    assert pa.ipc.open_file(own.content).read_all()["picture"].to_pylist() == [b"own"]


def test_branches_and_bases_inside_the_location_are_read(server: Lanceway) -> None:
    id_ = created(server, 1, 2)
    assert ask(server, "table", id_, "branches/create", {"name": "dev"}).status_code == 200
    assert int(ask(server, "table", id_, "count_rows", {"branch": "dev"}).text) == 2


def test_the_settings_may_allow_other_locations(whole_run: Run, secret: Path, tmp_path: Path) -> None:
    server = lanceway.start(whole_run, settings=f'[server]\nallowed_base_paths = ["{secret.parent}"]\n')
    id_ = created(server, 1, 2)
    lance.dataset(str(secret)).shallow_clone(str(tmp_path / "clone"), 1)
    lance.dataset(str(tmp_path / "clone")).insert(table(7))
    answer = ask(server, "table", id_, "version/create", _staged(_location(server, id_), tmp_path / "clone"))
    assert answer.status_code == 200, answer.text
    assert count(server, id_) == 3
    assert server.stop() == 0


def test_in_process_base_paths_are_not_restricted(secret: Path, tmp_path: Path) -> None:
    from lanceway.tables import bases
    from lanceway.tables.dataset import StoredTable, open_at

    lance.dataset(str(secret)).shallow_clone(str(tmp_path / "clone"), 1)
    assert not bases.is_confined()
    assert open_at(StoredTable("clone", str(tmp_path / "clone"))).count_rows() == 2
