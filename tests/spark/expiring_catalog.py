"""A catalog for tests: folders in a bucket, with credentials from the storage's own STS that end within seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import boto3

from lanceway.catalogs import DirectoryCatalog
from lanceway.catalogs.contract.hooks import TableEntry
from lanceway.identifiers import Identifier
from tests.servers.seaweedfs import REGION, ROLE, ending

LIFE = 6.0


def credentials(options: Mapping[str, str], seconds: float) -> dict[str, str]:
    """Storage options that are good for some seconds, made with some that do not end."""
    sts = boto3.client(
        "sts",
        endpoint_url=options["aws_endpoint"],
        region_name=REGION,
        aws_access_key_id=options["aws_access_key_id"],
        aws_secret_access_key=options["aws_secret_access_key"],
    )
    given = sts.assume_role(RoleArn=ROLE, RoleSessionName="job", DurationSeconds=900)["Credentials"]
    end = time.time() + seconds
    return {
        **options,
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": ending(given["SessionToken"], int(end)),
        "expires_at_millis": str(int(end) * 1000),
        "refresh_offset_millis": "2000",
    }


class ExpiringCatalog(DirectoryCatalog):
    """Its own keys are for itself; whoever asks for a table gets others, which end."""

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._vended(super()._find_table(table))

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        return self._vended(super()._declare_table(table, location, properties))

    def _vended(self, entry: TableEntry) -> TableEntry:
        return replace(entry, storage_options=credentials(dict(entry.storage_options or {}), LIFE))
