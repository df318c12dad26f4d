"""A foreign Lance REST server with managed tables: SeaweedFS, without keys, since its Lance API takes no token.

An anonymous server is for reading and writing by anybody who can reach it; it listens on loopback alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.run import Run
from tests.servers.seaweedfs import REGION, launch

BUCKET = "vectors"


@dataclass(frozen=True)
class SeaweedLance:
    uri: str
    s3: str
    bucket: str = BUCKET

    @property
    def storage_options(self) -> dict[str, str]:
        """What pylance needs to reach the tables' data."""
        return {
            "aws_region": REGION,
            "aws_endpoint": self.s3,
            "aws_skip_signature": "true",
            "allow_http": "true",
        }

    def is_ready(self) -> bool:
        try:
            answer = httpx.get(f"{self.uri}/v1/namespace/%24/list", timeout=5, trust_env=False)
        except httpx.RequestError:
            return False
        return BUCKET in answer.text


def start(run: Run) -> SeaweedLance:
    """The run's server, started if it is not there yet."""

    def started(home: Path) -> dict[str, str]:
        server = launch(
            run,
            home,
            "seaweedfs-lance",
            lambda port: (f"-tableBucket={BUCKET}:LANCE", "-s3.port.iceberg=0", f"-s3.port.lance={port}"),
            lambda s3, uri: SeaweedLance(uri, s3),
            {},
        )
        return {"uri": server.uri, "s3": server.s3}

    return SeaweedLance(**run.once("seaweedfs-lance", started))
