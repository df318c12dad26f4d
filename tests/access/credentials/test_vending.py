"""Which credentials are kept, and for how long. The vendor is a fake, which counts what it makes and sets the clock."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest

from lanceway.access.credentials.checks import StorageSite
from lanceway.access.credentials.options import VendedOptions, safe_options
from lanceway.access.credentials.sts import session_name, session_tags
from lanceway.access.credentials.vending import CredentialHolder, Vending
from lanceway.access.credentials.vendor import Credential, SessionLabel, StorageAccess, TableScope
from lanceway.errors import InvalidInputError


@dataclass
class CountingVendor:
    """Makes credentials out of nothing, issued so many seconds ago."""

    life: int = 900
    age: float = 0.0
    storage: Mapping[str, str] = field(default_factory=dict)
    scopes: list[TableScope] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    gate: threading.Event = field(default_factory=threading.Event)

    def serves(self, location: str) -> bool:
        return location.startswith("s3://")

    def issue(self, scope: TableScope, label: SessionLabel) -> Credential:
        self.gate.wait(10)
        self.scopes.append(scope)
        began = time.time() - self.age
        return Credential({"key": str(next(self.numbers))}, began, began + self.life, began + self.life)


HOLDER = CredentialHolder("ann", ("lake", "t"), "s3://b/t", StorageAccess.READ)


@pytest.fixture
def vendor() -> CountingVendor:
    made = CountingVendor()
    made.gate.set()
    return made


def test_one_is_kept_by_user_table_place_and_access(vendor: CountingVendor) -> None:
    vending = Vending(vendor)
    others = [
        replace(HOLDER, user="bob"),
        replace(HOLDER, table=("lake", "u")),
        replace(HOLDER, location="s3://b/u"),
        replace(HOLDER, access=StorageAccess.WRITE),
    ]
    keys = [vending.vend(holder)["key"] for holder in (HOLDER, *others, HOLDER, *others)]
    assert keys == ["0", "1", "2", "3", "4"] * 2
    assert vending.at_hand(HOLDER) is not None


def test_it_is_given_again_until_half_of_its_life(vendor: CountingVendor) -> None:
    vending = Vending(vendor)
    vendor.age = 449
    assert vending.vend(HOLDER)["key"] == vending.vend(HOLDER)["key"] == "0"
    late = Vending(vendor)
    vendor.age = 451
    assert late.vend(HOLDER)["key"] != late.vend(HOLDER)["key"]
    assert late.at_hand(HOLDER) is None


def test_ends_differ_and_leave_time_to_renew(vendor: CountingVendor) -> None:
    vending, now = Vending(vendor), time.time()
    vendor.age = 440  # the oldest that is given
    answers = [vending.vend(HOLDER) for _ in range(100)]
    ends = [int(answer["expires_at_millis"]) / 1000 for answer in answers]
    offset = int(answers[0]["refresh_offset_millis"]) / 1000
    assert len(set(ends)) > 90
    assert max(ends) - min(ends) > 45, "they are spread over a tenth of a life"
    assert all(end - offset > now + 0.25 * 900 for end in ends), "no client has to renew at once"
    assert max(ends) <= now + 461


def test_of_many_who_ask_at_once_one_has_it_made(vendor: CountingVendor) -> None:
    vendor.gate.clear()
    vending = Vending(vendor)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(vending.vend, HOLDER) for _ in range(8)]
        vendor.gate.set()
        assert {each.result()["key"] for each in asked} == {"0"}
    assert len(vendor.scopes) == 1


def test_base_paths_are_looked_for_only_when_one_is_made(vendor: CountingVendor) -> None:
    vending, looked = Vending(vendor), list[str]()

    def base_paths(location: str) -> tuple[str, ...]:
        looked.append(location)
        return ("s3://b/source",)

    for _ in range(3):
        vending.vend(HOLDER, base_paths=base_paths)
    assert looked == ["s3://b/t"]
    assert vendor.scopes[0].base_paths == ("s3://b/source",)


def test_a_catalog_has_the_vendor_of_its_own_storage(vendor: CountingVendor) -> None:
    vending = Vending(vendor, {"archive": None})
    assert vending.serves("lake", "s3://b/t")
    assert not vending.serves("lake", "/folder")
    assert not vending.serves("archive", "s3://b/t")
    with pytest.raises(InvalidInputError, match="through the server"):
        vending.vend(replace(HOLDER, table=("archive", "t")))


@pytest.mark.parametrize("location", ["s3://b", "s3://b/x", "s3://b/x/archive/"])
def test_a_location_with_a_whole_catalog_in_it_has_none(vendor: CountingVendor, location: str) -> None:
    vending = Vending(vendor, {"archive": vendor}, [StorageSite("archive", "s3://b/x/archive")])
    with pytest.raises(InvalidInputError, match="a catalog are stored below"):
        vending.vend(replace(HOLDER, location=location))
    assert vending.vend(replace(HOLDER, location="s3://b/x/archive/t"))
    assert vending.vend(replace(HOLDER, location="s3://b/x/arch"))


def test_only_what_a_vendor_made_passes_as_it_is() -> None:
    secret = {"aws_secret_access_key": "sesame", "aws_region": "here"}
    assert safe_options(secret) == {"aws_region": "here"}
    assert safe_options(VendedOptions(secret)) == secret
    assert "sesame" not in repr(VendedOptions(secret))


@pytest.mark.parametrize(
    "label",
    [
        SessionLabel("ann@issuer", "lake/team/orders", "0123456789abcdef" * 2),
        SessionLabel("ü" * 300, "lake/" + "ж" * 300 + "/a b", "x:/y" * 50),
        SessionLabel("", "", ""),
    ],
)
def test_names_and_tags_of_sessions_are_such_as_aws_takes(label: SessionLabel) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_+=,.@-]{2,64}", session_name(label))
    for tag in session_tags(label):
        assert re.fullmatch(r"lanceway:[a-z]+", tag["Key"])
        assert re.fullmatch(r"[A-Za-z0-9_ .:/=+@-]{1,256}", tag["Value"])


def test_the_name_of_a_session_tells_user_table_and_request() -> None:
    assert session_name(SessionLabel("ann", "lake/team/orders", "abc123")) == "ann+lake_team_orders+abc123"
