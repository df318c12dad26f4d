"""The directory catalog in a bucket of a real S3 server."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    DeregisterTableRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropTableRequest,
    ListTablesRequest,
    RegisterTableRequest,
    RenameTableRequest,
)

from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import (
    InvalidTableStateError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnauthenticatedError,
)
from tests.catalogs.directory.folder_helpers import (
    count,
    create,
    declare,
    is_declared,
    location,
    make_namespace,
    namespaces,
    pylance,
    tables,
)
from tests.catalogs.directory.test_races import LOSSES, at_once, one_winner
from tests.servers.seaweedfs import S3

ANY = pytest.mark.parametrize("layout", ["plain", "lance", "manifest"])


def storage(s3: S3, **changed: str) -> dict[str, str]:
    return {f"storage.{name}": value for name, value in {**s3.storage_options, **changed}.items()}


def connect(s3: S3, root: str, layout: str | None = None) -> DirectoryCatalog:
    return DirectoryCatalog(path=root, layout=layout, **storage(s3))


def keys(s3: S3, root: str) -> list[str]:
    """Every object below a location, without Lanceway in between; the manifest's are left out."""
    keys = [meta["path"] for page in s3.store(root).list() for meta in page]
    return [path for path in keys if not path.startswith("__manifest")]


@ANY
def test_a_table_lives_and_dies_in_a_bucket(s3: S3, layout: str) -> None:
    root = s3.prefix()
    catalog = connect(s3, root, layout)
    assert tables(catalog) == []
    where = create(catalog, "t")
    assert where == f"{root}/{'t' if layout == 'plain' else 't.lance'}"
    declare(catalog, "d", properties={"owner": "me"})
    assert (tables(catalog), tables(catalog, include_declared=False)) == (["d", "t"], ["t"])
    assert (is_declared(catalog, "d"), is_declared(catalog, "t"), count(catalog, "t")) == (True, False, 3)
    described = catalog.describe_table(DescribeTableRequest(id=["d"]))
    assert (described.properties, described.storage_options) == ({"owner": "me"}, s3.storage_options)
    for name in ("t", "d"):
        with pytest.raises(TableAlreadyExistsError):
            declare(catalog, name)
        catalog.drop_table(DropTableRequest(id=[name]))
        with pytest.raises(TableNotFoundError):
            location(catalog, name)
    assert (tables(catalog), keys(s3, root)) == ([], [])
    create(catalog, "t")
    assert count(catalog, "t") == 3


def test_foreign_keys_are_a_table_that_cannot_be_loaded(s3: S3) -> None:
    root = s3.prefix()
    s3.store(root).put("t/notes/a.txt", b"no table")
    catalog = connect(s3, root)
    assert tables(catalog) == ["t"]
    with pytest.raises(InvalidTableStateError):
        catalog.describe_table(DescribeTableRequest(id=["t"], load_detailed_metadata=True))
    with pytest.raises(TableAlreadyExistsError):
        declare(catalog, "t")
    assert keys(s3, root) == ["t/notes/a.txt"]


def test_a_claim_yields_to_keys_that_come_before_it(s3: S3) -> None:
    root = s3.prefix()
    catalog = connect(s3, root)
    s3.store(root).put("t/data/x", b"somebody else's")
    assert catalog._folder.claim("t", "ours") is False
    assert keys(s3, root) == ["t/data/x"]


@ANY
def test_a_deregistered_table_keeps_its_data(s3: S3, layout: str) -> None:
    root = s3.prefix()
    catalog = connect(s3, root, layout)
    where = create(catalog, "t")
    catalog.deregister_table(DeregisterTableRequest(id=["t"]))
    assert tables(catalog) == []
    assert lance.dataset(where, storage_options=s3.storage_options).count_rows() == 3
    with pytest.raises(TableAlreadyExistsError, match="still at"):
        create(catalog, "t")
    catalog.drop_table(DropTableRequest(id=["t"]))
    assert keys(s3, root) == []


def test_a_drop_that_stopped_half_way_is_out_of_sight_and_can_be_finished(s3: S3) -> None:
    root = s3.prefix()
    catalog = connect(s3, root)
    create(catalog, "t")
    s3.store(root).put("t/.lance-deregistered", b"")
    s3.store(root).delete("t/.lance-reserved")
    assert tables(catalog) == []
    catalog.drop_table(DropTableRequest(id=["t"]))
    assert keys(s3, root) == []


@pytest.mark.parametrize("name", ["a b", "ä日本", "a+b=c&d", "a'b", "a:b", "a~b"])
def test_unusual_names_work_in_a_bucket(s3: S3, name: str) -> None:
    catalog = connect(s3, s3.prefix())
    create(catalog, name)
    assert (tables(catalog), count(catalog, name)) == ([name], 3)


@pytest.mark.parametrize("name", ["a%20b", "a#b"])
def test_a_prefix_that_no_uri_shows_plainly_is_read(s3: S3, name: str) -> None:
    root = s3.prefix()
    escaped = name.replace("%", "%25").replace("#", "%23")
    lance.write_dataset(pa.table({"x": [1, 2, 3]}), f"{root}/{escaped}", storage_options=s3.storage_options)
    catalog = connect(s3, root)
    assert (tables(catalog), count(catalog, name)) == ([name], 3)


def test_namespaces_renames_and_registrations_in_a_bucket(s3: S3) -> None:
    root = s3.prefix()
    catalog = connect(s3, root, "manifest")
    make_namespace(catalog, "n")
    where = create(catalog, "t")
    catalog.rename_table(RenameTableRequest(id=["t"], new_table_name="u", new_namespace_id=["n"]))
    assert (tables(catalog), tables(catalog, "n"), location(catalog, "n", "u")) == ([], ["u"], where)
    catalog.deregister_table(DeregisterTableRequest(id=["n", "u"]))
    catalog.register_table(RegisterTableRequest(id=["n", "v"], location=where))
    assert count(catalog, "n", "v") == 3
    catalog.drop_namespace(DropNamespaceRequest(id=["n"], behavior="cascade"))
    assert (namespaces(catalog), keys(s3, root)) == ([], [])


@pytest.mark.parametrize("mode", ["default", "manifest-only"])
def test_pylance_and_we_read_each_other_in_a_bucket(s3: S3, mode: str) -> None:
    root = s3.prefix()
    peer, catalog = pylance(root, mode, **storage(s3)), connect(s3, root, "manifest")
    make_namespace(peer, "n")
    create(peer, "theirs")
    create(peer, "n", "theirs")
    create(catalog, "ours")
    create(catalog, "n", "ours")
    for space in ([], ["n"]):
        assert tables(peer, *space) == tables(catalog, *space) == ["ours", "theirs"]
        assert count(catalog, *space, "theirs") == 3
    peer.drop_table(DropTableRequest(id=["n", "ours"]))
    assert tables(catalog, "n") == ["theirs"]


def test_a_list_pages_in_a_bucket(s3: S3) -> None:
    root = s3.prefix()
    store, names = s3.store(root), [f"t{number:03}" for number in range(150)]
    for name in names:
        store.put(f"{name}/.lance-reserved", b"")
    for name in names[::3]:
        store.put(f"{name}/.lance-deregistered", b"")
    catalog = connect(s3, root)
    shown = [name for position, name in enumerate(names) if position % 3]
    first = catalog.list_tables(ListTablesRequest(limit=60))
    second = catalog.list_tables(ListTablesRequest(page_token=first.page_token))
    assert first.tables == shown[:60]
    assert first.tables + second.tables == shown
    assert tables(catalog, include_declared=False) == []


@pytest.mark.parametrize(("layout", "space"), [("plain", []), ("manifest", []), ("manifest", ["n"])])
def test_one_of_many_wins_a_name_in_a_bucket(s3: S3, layout: str, space: list[str]) -> None:
    root = s3.prefix()
    catalog = connect(s3, root, layout)
    if space:
        make_namespace(catalog, *space)
    assert at_once([lambda: create(catalog, *space, "t")] * 20) == one_winner(20)
    assert (tables(catalog, *space), count(catalog, *space, "t")) == (["t"], 3)
    assert len({key.split("/")[0] for key in keys(s3, root)}) == 1


@pytest.mark.parametrize("layout", ["plain", "manifest"])
def test_create_and_drop_racing_in_a_bucket_leave_a_whole_table_or_none(s3: S3, rounds: int, layout: str) -> None:
    root = s3.prefix()
    catalog = connect(s3, root, layout)
    works: list[Callable[[], object]] = [lambda: create(catalog, "t")] * 2
    works += [lambda: catalog.drop_table(DropTableRequest(id=["t"]))] * 2
    outcomes: Counter[str] = Counter()
    for _ in range(rounds):
        random.shuffle(works)
        outcomes += at_once(works)
        for name in tables(catalog):
            assert is_declared(catalog, name) or count(catalog, name) == 3
    assert set(outcomes) <= {"won", *(error.__name__ for error in LOSSES)}
    if tables(catalog):
        catalog.drop_table(DropTableRequest(id=["t"]))
    assert keys(s3, root) == []


@ANY
def test_storage_that_refuses_or_is_away_is_told_apart(s3: S3, layout: str) -> None:
    root = s3.prefix()
    make_namespace(connect(s3, root, "manifest"), "n")
    wrong = DirectoryCatalog(path=root, layout=layout, **storage(s3, aws_secret_access_key="wrong-secret"))
    away = DirectoryCatalog(
        path=root,
        layout=layout,
        **storage(s3, aws_endpoint="http://127.0.0.1:1", client_max_retries="0", client_retry_timeout="1"),
    )
    for catalog, error in ((wrong, UnauthenticatedError), (away, ServiceUnavailableError)):
        for ask, names in ((tables, []), (location, ["t"]), (create, ["n", "t"])):
            with pytest.raises(error) as raised:
                ask(catalog, *names)
            assert "wrong-secret" not in str(raised.value)
