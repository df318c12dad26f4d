"""moto as a server, in a thread of the test's own process: Glue (with its plugin for catalogs) and STS.

In the same process, so that a test can look at what was asked, and tell the server what to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.moto_catalogs import Fault, State

REGION = "us-east-1"
ACCOUNT = "123456789012"  # moto's own, for keys that it has not given out itself
KEY, SECRET = "AKIAIOSFODNN7LANCEWY", "lanceway-glue-secret"


@dataclass(frozen=True)
class Glue:
    """The server, as the settings of a catalog name it and as a test sees it from behind."""

    endpoint: str
    state: State

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "endpoint": self.endpoint,
            "region": REGION,
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "catalog_id": ACCOUNT,
        }

    def client(self, service: str = "glue") -> Any:
        """A stock client, without Lanceway in between."""
        return _client(service, self.endpoint)

    def refuse(self, operation: str, code: str, **options: Any) -> Fault:
        """Answer an operation with an error: once, or `times`."""
        from tests.servers.moto_catalogs import Fault

        fault = Fault(operation, code, **options)
        self.state.faults.append(fault)
        return fault


@cache
def _client(service: str, endpoint: str) -> Any:
    import boto3

    return boto3.client(
        service, endpoint_url=endpoint, region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=SECRET
    )


@contextmanager
def serve() -> Iterator[Glue]:
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    from tests.servers.moto_catalogs import install

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    state = install()
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Glue(f"http://{host}:{port}", state)
    finally:
        server.stop()
