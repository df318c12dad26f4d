"""Tables of Iceberg's reference server, over its REST interface, become Lance tables and back."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog.rest import RestCatalog

from lanceway import jobs
from lanceway.catalogs import DirectoryCatalog, IcebergCatalog, LakeCatalog
from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from tests.jobs.iceberg import iceberg_job_helpers as tables
from tests.jobs.iceberg.iceberg_job_helpers import ROWS
from tests.servers.iceberg import Iceberg
from tests.servers.proxy import Break, Lose, Proxy, Refuse

COMMIT = "/tables/rows"


@pytest.fixture
def direct(iceberg: Iceberg) -> RestCatalog:
    return RestCatalog("direct", uri=iceberg.endpoint, warehouse=iceberg.warehouse)


@pytest.fixture
def namespace(direct: RestCatalog) -> str:
    name = f"n{uuid.uuid4().hex}"
    direct.create_namespace((name,))
    return name


@pytest.fixture
def reference(iceberg: Iceberg) -> IcebergCatalog:
    return IcebergCatalog(endpoint=iceberg.endpoint, warehouse=iceberg.warehouse)


@pytest.fixture
def proxy(iceberg: Iceberg) -> Iterator[Proxy]:
    with Proxy(iceberg.endpoint) as server:
        yield server


@pytest.fixture
def source(lake: LakeCatalog) -> LakeCatalog:
    tables.write(lake, "team.rows", ROWS)
    return lake


def data_files(direct: RestCatalog, namespace: str) -> list[Path]:
    """Return the data files below the namespace's folder, of any table."""
    location = direct.create_table_transaction((namespace, "probe"), tables.PLAIN).table_metadata.location
    return list(Path(urlsplit(location).path).parent.glob("*/data/*"))


def test_every_type_goes_there_and_comes_back(
    lake: LakeCatalog, reference: IcebergCatalog, direct: RestCatalog, namespace: str, seed: str
) -> None:
    rows = tables.table_of_every_type(random.Random(seed), 40)
    tables.write(lake, "team.rows", rows)
    there = jobs.export_iceberg(lake, ["team", "rows"], [namespace, "all"], iceberg=reference)
    back = jobs.import_iceberg(lake, [namespace, "all"], ["team", "back"], iceberg=reference)
    assert there.facts["checksum"] == back.facts["checksum"]
    assert tables.as_python(tables.read(lake, "team.back")) == tables.as_python(rows)
    assert direct.load_table((namespace, "all")).scan().to_arrow().num_rows == 40


def test_tables_with_deletes_and_other_schemas_are_imported(
    lake: LakeCatalog, reference: IcebergCatalog, direct: RestCatalog, namespace: str
) -> None:
    table = direct.create_table((namespace, "events"), tables.PLAIN)
    table.append(ROWS)
    tables.delete_rows(direct.load_table((namespace, "events")), [1])
    table = direct.load_table((namespace, "events"))
    with table.update_schema() as change:
        change.delete_column("name")
    jobs.import_iceberg(lake, [namespace, "events"], ["team", "events"], iceberg=reference)
    assert tables.read(lake, "team.events").to_pylist() == [{"id": 1}, {"id": 3}, {"id": 4}]


def test_a_folder_of_tables_can_be_the_other_side(tmp_path: Path, reference: IcebergCatalog, namespace: str) -> None:
    folder = DirectoryCatalog(path=str(tmp_path / "folder"))
    tables.write(folder, "rows", ROWS)
    jobs.export_iceberg(folder, ["rows"], [namespace, "rows"], iceberg=reference)
    jobs.import_iceberg(folder, [namespace, "rows"], ["back"], iceberg=reference)
    assert tables.read(folder, "back").equals(ROWS)


def test_what_is_missing_or_taken_is_said(
    source: LakeCatalog, reference: IcebergCatalog, direct: RestCatalog, namespace: str
) -> None:
    with pytest.raises(TableNotFoundError):
        jobs.import_iceberg(source, [namespace, "nothing"], ["team", "x"], iceberg=reference)
    with pytest.raises(NamespaceNotFoundError):
        jobs.export_iceberg(source, ["team", "rows"], ["nowhere", "x"], iceberg=reference)
    direct.create_table((namespace, "taken"), tables.PLAIN)
    with pytest.raises(TableAlreadyExistsError):
        jobs.export_iceberg(source, ["team", "rows"], [namespace, "taken"], iceberg=reference)
    assert data_files(direct, namespace) == []
    with pytest.raises(ServiceUnavailableError):
        jobs.import_iceberg(
            source, [namespace, "x"], ["team", "x"], iceberg=IcebergCatalog(endpoint="http://127.0.0.1:9")
        )


def test_a_commit_whose_answer_is_lost_is_found_done(
    source: LakeCatalog, proxy: Proxy, iceberg: Iceberg, direct: RestCatalog, namespace: str
) -> None:
    cut = IcebergCatalog(endpoint=proxy.endpoint, warehouse=iceberg.warehouse)
    proxy.next(Lose(method="POST", path=COMMIT))
    summary = jobs.export_iceberg(source, ["team", "rows"], [namespace, "rows"], iceberg=cut)
    assert summary.rows == 4
    assert not proxy.waiting
    assert direct.load_table((namespace, "rows")).scan().to_arrow().to_pylist() == ROWS.to_pylist()


@pytest.mark.parametrize("fault", [Break(method="POST", path=COMMIT), Refuse(500, method="POST", path=COMMIT)])
def test_a_commit_that_may_still_come_keeps_its_files(
    source: LakeCatalog, proxy: Proxy, iceberg: Iceberg, direct: RestCatalog, namespace: str, fault: Break | Refuse
) -> None:
    cut = IcebergCatalog(endpoint=proxy.endpoint, warehouse=iceberg.warehouse)
    proxy.next(fault)
    with pytest.raises(CommitStateUnknownError, match="its files were kept"):
        jobs.export_iceberg(source, ["team", "rows"], [namespace, "rows"], iceberg=cut)
    assert not direct.table_exists((namespace, "rows"))
    assert len(data_files(direct, namespace)) == 1


def test_a_commit_that_is_refused_leaves_no_files(
    source: LakeCatalog, proxy: Proxy, iceberg: Iceberg, direct: RestCatalog, namespace: str
) -> None:
    cut = IcebergCatalog(endpoint=proxy.endpoint, warehouse=iceberg.warehouse)
    proxy.next(Refuse(403, method="POST", path=COMMIT))
    with pytest.raises(LanceNamespaceError, match="failed"):
        jobs.export_iceberg(source, ["team", "rows"], [namespace, "rows"], iceberg=cut)
    assert not direct.table_exists((namespace, "rows"))
    assert data_files(direct, namespace) == []


def test_a_table_that_others_make_first_is_left_alone(
    source: LakeCatalog, reference: IcebergCatalog, direct: RestCatalog, namespace: str
) -> None:
    def take(_: object) -> None:
        if not direct.table_exists((namespace, "rows")):
            direct.create_table((namespace, "rows"), tables.PLAIN).append(ROWS.slice(0, 1))

    with pytest.raises(LanceNamespaceError):
        jobs.export_iceberg(source, ["team", "rows"], [namespace, "rows"], iceberg=reference, watch=take)
    assert direct.load_table((namespace, "rows")).scan().to_arrow().num_rows == 1
    assert len(data_files(direct, namespace)) == 1


def test_one_that_is_stopped_while_it_compares_drops_its_table(
    source: LakeCatalog, reference: IcebergCatalog, direct: RestCatalog, namespace: str
) -> None:
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > 1

    with pytest.raises(LanceNamespaceError, match="stopped"):
        jobs.export_iceberg(source, ["team", "rows"], [namespace, "rows"], iceberg=reference, stop=stop)
    assert not direct.table_exists((namespace, "rows"))


def test_secrets_are_in_no_repr_and_reach_the_client() -> None:
    catalog = IcebergCatalog(endpoint="http://127.0.0.1:9", auth_token="s3cret", **{"storage.aws_region": "eu"})
    properties = catalog.client_properties()
    assert properties == {"uri": "http://127.0.0.1:9", "token": "s3cret", "s3.region": "eu"}
    assert "s3cret" not in repr(tables.catalogs.find(catalog, catalog))
