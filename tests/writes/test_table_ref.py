"""Which table options mean, in any process."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs.federated.locations import AllowedBasePaths
from lanceway.errors import InvalidInputError, TableNotFoundError
from lanceway.tables import bases
from lanceway.writes.table_ref import TableRef

ROWS = pa.table({"x": [1, 2]})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the table `t` in its folder `w`, which lanceway.toml calls `local`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)
    lance.write_dataset(ROWS, tmp_path / "w" / "t.lance")
    (tmp_path / "lanceway.toml").write_text('[namespaces.local]\ntype = "dir"\npath = "./w"\n')
    return tmp_path


WAYS = [
    {"path": "w/t.lance"},
    {"PATH": "w/t.lance"},
    {"table": "t", "namespace": "local"},
    {"table": "t", "namespace.type": "dir", "namespace.path": "w"},
    {"table": '["t"]', "namespace.type": "dir", "namespace.root": "./w", "storage.region": "eu"},
]


@pytest.mark.parametrize("options", WAYS, ids=json.dumps)
def test_a_target_means_the_same_table_elsewhere(
    options: dict[str, str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TableRef.of(options)
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for same in (target, pickle.loads(pickle.dumps(target)), TableRef.of(target.to_options())):
        assert same == target
        assert same.open().to_table() == ROWS
        assert same.exists()


def test_a_table_that_is_not_there(place: Path) -> None:
    assert not TableRef.of({"path": "w/gone"}).exists()
    assert not TableRef.of({"table": "gone", "namespace": "local"}).exists()
    with pytest.raises(TableNotFoundError, match="There is no Lance table at"):
        TableRef.of({"path": "w/gone"}).open()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs the location of a table"),
        ({"path": "a", "table": "b"}, "one of the two and not both"),
        ({"path": "a", "namespace": "local"}, "needs no namespace"),
        ({"table": "t"}, "needs its root namespace"),
        ({"table": "", "namespace": "local"}, "it must name a table"),
        ({"table": "[", "namespace": "local"}, "not valid JSON"),
        ({"table": "t", "namespace": "gone"}, "No namespace is called 'gone'"),
        ({"table": "t", "namespace": "local", "namespace.type": "dir"}, "not both"),
        ({"table": "t", "namespace.type": "dir", "namespace.pth": "w"}, "Did you mean 'path'?"),
        ({"table": "t", "namespace.type": "nothing"}, "There is no catalog of type 'nothing'"),
    ],
)
def test_options_that_name_no_table(options: dict[str, str], sentence: str, place: Path) -> None:
    with pytest.raises(InvalidInputError, match=sentence.replace("?", r"\?")):
        TableRef.of(options)


def test_an_unknown_option_is_refused_with_those_that_people_set(place: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no setting 'colums'\. Did you mean 'columns'\?") as refused:
        TableRef.of({"path": "a", "colums": "id"})
    assert "max_rows_per_file" in str(refused.value)
    for internal in ("target.secret", "checkpointlocation"):
        assert internal not in str(refused.value)


def test_no_secret_is_shown(place: Path) -> None:
    options = {"table": "t", "namespace": "local", "namespace.storage.secret_access_key": "PLANTED"}
    target = TableRef.of({**options, "storage.session_token": "PLANTED"})
    assert "PLANTED" not in repr(target) + target.name
    assert list(target.to_options()) == ["target.secret"]  # a name that Spark hides the value of
    with pytest.raises(InvalidInputError) as refused:
        TableRef.of({**options, "namespace.storag": "PLANTED"})
    assert "PLANTED" not in str(refused.value)


# -- base paths stay confined where a reference is sent ------------------------------------------


def _count(sent: TableRef | dict[str, str]) -> int | str:
    try:
        return (sent if isinstance(sent, TableRef) else TableRef.of(sent)).open().count_rows()
    except InvalidInputError as error:
        return str(error)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process that is sent references, and is one for all of them, as Spark's Python workers are."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def test_base_paths_stay_confined_elsewhere(place: Path, elsewhere: ProcessPoolExecutor) -> None:
    lance.dataset(place / "w" / "t.lance").shallow_clone(str(place / "clone"), 1)
    ref = TableRef.of({"path": str(place / "clone")})
    both = (ref, ref.to_options())
    assert [elsewhere.submit(_count, each).result() for each in both] == [2, 2]
    release = bases.confine(AllowedBasePaths())
    try:
        for sent in (ref, ref.to_options()):
            assert "base paths outside of its location" in str(elsewhere.submit(_count, sent).result())
    finally:
        release()
    assert [elsewhere.submit(_count, each).result() for each in both] == [2, 2]
    release = bases.confine(AllowedBasePaths((str(place / "w"),)))
    try:
        assert elsewhere.submit(_count, ref).result() == 2
    finally:
        release()


def test_a_clone_that_a_lake_made_is_read_elsewhere(tmp_path: Path, elsewhere: ProcessPoolExecutor) -> None:
    uri = f"sqlite:///{tmp_path}/lake.db"
    with lanceway.connect("lake", uri=uri, root=str(tmp_path / "data"), user="alice") as lake:
        lake.create("t", ROWS)
        lake.clone_table("t", "clone")
        settings = {"namespace.type": "lake", "namespace.uri": uri, "namespace.user": "alice"}
        ref = TableRef.of({"table": "clone", **settings})
        release = bases.confine(AllowedBasePaths(store=lake._lake))
        try:
            assert ref.open().count_rows() == 2
            assert elsewhere.submit(_count, ref).result() == 2
        finally:
            release()
