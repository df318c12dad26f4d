"""The same jobs on a table that a server manages: each version is claimed there, and it knows which are gone."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

import lanceway
from lanceway import jobs
from tests.jobs import upkeep_helpers as upkeep
from tests.servers.lanceway import Lanceway


def test_every_job_goes_through_the_server(server: Lanceway, tmp_path: Path) -> None:
    mine = f"upkeep_{uuid.uuid4().hex[:8]}"
    settings = {"uri": server.uri, "token": server.token}
    id_ = ["lake", mine, "table"]
    options = {"namespace.type": "rest", **{f"namespace.{key}": value for key, value in settings.items()}}
    options |= {"table": ".".join(id_)}
    with lanceway.connect("rest", **settings) as rest:  # type: ignore[attr-defined]
        rest.create_namespace({"id": id_[:2]})
        rest.create_table_stream({"id": id_}, upkeep.rows(0, 50).to_reader())
        rest.insert_into_table_stream({"id": id_}, upkeep.rows(25, 50).to_reader())
        assert rest.describe_table({"id": id_}).managed_versioning
        jobs.index(options, "id", "BTREE", segments=1)
        assert jobs.dedupe(options, "id").facts["deleted"] == 25
        assert jobs.backfill(options, "one", lambda batch: [1] * batch.num_rows, data_type=pa.int64()).rows == 75
        assert jobs.compact(options).facts == {"fragments_removed": 2, "fragments_added": 1}
        assert jobs.export(options, str(tmp_path / "out")).rows == 75
        assert jobs.import_({**options, "table": f"lake.{mine}.copy"}, str(tmp_path / "out")).version == 1
        versions = [one.version for one in rest.list_table_versions({"id": id_}).versions]
        assert sorted(versions) == list(range(1, max(versions) + 1))
        assert jobs.clean(options, older_than=timedelta(0)).facts["versions_removed"] == len(versions) - 1
        assert [one.version for one in rest.list_table_versions({"id": id_}).versions] == [max(versions)]
        assert rest.count_table_rows({"id": id_}).count == 75
        rest.drop_namespace({"id": id_[:2], "behavior": "cascade"})
