"""What STS is asked, as it goes over the wire, and what a credential says of its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs

import pytest

from lanceway.access.credentials.sts import StsVendor
from lanceway.access.credentials.vendor import SessionLabel, StorageAccess, TableScope
from lanceway.config import CredentialSettings
from lanceway.config.credentials import SHORTEST
from tests.servers import moto, seaweedfs
from tests.servers.proxy import Proxy
from tests.servers.run import Run

ROLE = f"arn:aws:iam::{moto.ACCOUNT}:role/tables"
SCOPE = TableScope("s3://bucket/warehouse/table", StorageAccess.READ)
LABEL = SessionLabel("ada@issuer", "lake$team$people", "request-1")


class Wire(Proxy):
    """Between the server and STS: it keeps the forms that are sent."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.forms: list[dict[str, str]] = []

    def forward(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        self.forms.append({key: value for key, [value] in parse_qs(body.decode()).items()})
        return super().forward(method, path, headers, body)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with moto.serve() as server, Wire(server.endpoint) as wire:
        yield wire


def vendor_at(endpoint: str, settings: CredentialSettings) -> StsVendor:
    return StsVendor(
        settings,
        {
            "aws_access_key_id": moto.KEY,
            "aws_secret_access_key": moto.SECRET,
            "aws_region": moto.REGION,
            "aws_endpoint": endpoint,
        },
    )


def test_the_external_id_and_the_tags_of_a_session_reach_sts(wire: Wire) -> None:
    settings = CredentialSettings(ROLE, external_id="sesame", session_tags=True, duration=1200)
    vendor_at(wire.endpoint, settings).issue(SCOPE, LABEL)
    [form] = wire.forms
    assert (form["Action"], form["RoleArn"], form["ExternalId"]) == ("AssumeRole", ROLE, "sesame")
    assert form["DurationSeconds"] == "1200"
    tags = {form[f"Tags.member.{n}.Key"]: form[f"Tags.member.{n}.Value"] for n in (1, 2, 3)}
    assert tags == {
        "lanceway:user": "ada@issuer",
        "lanceway:table": "lake_team_people",
        "lanceway:request": "request-1",
    }
    assert form["RoleSessionName"] == "ada@issuer+lake_team_people+request-1"
    assert "warehouse/table/" in form["Policy"]


def test_a_role_without_them_is_asked_without_them(wire: Wire) -> None:
    """Many trust policies refuse a session that has tags."""
    vendor_at(wire.endpoint, CredentialSettings(ROLE)).issue(SCOPE, LABEL)
    [form] = wire.forms
    assert not [key for key in form if key.startswith("Tags") or key == "ExternalId"]


def test_clients_are_told_a_shorter_end_than_that_of_the_key(whole_run: Run) -> None:
    s3 = seaweedfs.start_sts(whole_run)
    vendor = StsVendor(CredentialSettings(seaweedfs.ROLE, duration=60), s3.storage_options)
    credential = vendor.issue(TableScope(f"{s3.prefix()}/table", StorageAccess.READ), LABEL)
    assert credential.life == 60
    assert round(credential.ends_at - credential.issued_at, -1) == vendor.life == SHORTEST
