"""Requests that the server signs: what a real storage does with them, and that nothing else can be had signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from lanceway.access.credentials import s3_requests
from lanceway.access.credentials.s3_requests import S3Address, UnsignedRequest
from lanceway.access.credentials.signing import RequestSigner, SignedRequest
from lanceway.access.credentials.vendor import StorageAccess
from lanceway.errors import InvalidInputError, PermissionDeniedError
from tests.access.credentials.signing_attacks import ATTACKS, Attack, on
from tests.servers import moto
from tests.servers.seaweedfs import KEY, S3, SECRET

CONTENT = b"rows of a file"
POOL = urllib3.PoolManager(retries=False)


@dataclass(frozen=True)
class Table:
    """A table in a bucket, beside others, and what signs requests to it."""

    s3: S3
    signer: RequestSigner
    root: str

    @property
    def location(self) -> str:
        return f"{self.root}/orders"

    def uri(self, key: str = "data/1.parquet", query: str = "", *, of: str = "orders") -> str:
        """The address of an object of a table, as clients write it."""
        path = quote(f"{self.root.removeprefix('s3:/')}/{of}/{key}", safe="/~")
        return f"{self.s3.endpoint}{path}{query}"

    def list_uri(self, prefix: str, query: str = "") -> str:
        return f"{self.s3.endpoint}/{self.s3.bucket}?list-type=2&prefix={quote(prefix, safe='')}{query}"

    def source(self, key: str, *, of: str = "orders") -> str:
        return f"{self.root.removeprefix('s3:/')}/{of}/{key}"

    @property
    def prefix(self) -> str:
        return self.location.partition("://")[2].partition("/")[2]

    def sign(self, method: str, uri: str, headers: Mapping[str, str] | None = None) -> SignedRequest:
        request = UnsignedRequest(method, uri, {name: [value] for name, value in (headers or {}).items()})
        return self.signer.sign(self.signer.read(request, self.location), request)

    def do(self, method: str, uri: str, headers: Mapping[str, str] | None = None, body: bytes | None = None) -> bytes:
        answer = send(method, self.sign(method, uri, headers), body)
        assert 200 <= answer.status < 300, answer.data
        return answer.data

    def needs(self, method: str, uri: str) -> StorageAccess:
        return self.signer.read(UnsignedRequest(method, uri, {}), self.location).access

    def stored(self, key: str, *, of: str = "orders") -> bytes | None:
        store = self.s3.store(self.root)
        try:
            return bytes(store.get(f"{of}/{key}").bytes())
        except FileNotFoundError:
            return None


def send(method: str, signed: SignedRequest, body: bytes | None = None, **added: str) -> urllib3.BaseHTTPResponse:
    """Send what was signed, as a client would, with headers `added` to it."""
    headers = {name: ", ".join(values) for name, values in signed.headers.items()}
    extra = {name.replace("_", "-"): value for name, value in added.items()}
    return POOL.request(method, signed.uri, body=body, headers={**headers, **extra})


@pytest.fixture(scope="module")
def table(s3: S3) -> Table:
    root = s3.prefix()
    signer = RequestSigner.of(s3.storage_options, root)
    assert signer is not None
    store = s3.store(root)
    for place in ("orders/data/1.parquet", "orders2/secret", "secret/file"):
        store.put(place, CONTENT)
    return Table(s3, signer, root)


# -- what is signed ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "data/new.parquet",
        "data/day=2026-11-18/name=a%2Fb/new.parquet",  # as Iceberg writes the values of partitions
        "data/a space, a plus + and ü/new.parquet",
        "metadata/00001-~tilde.metadata.json",
    ],
)
def test_objects_are_written_read_and_deleted(table: Table, key: str) -> None:
    uri = table.uri(key)
    table.do("PUT", uri, {"Content-Type": "application/octet-stream"}, CONTENT)
    assert table.stored(key) == CONTENT
    assert table.do("GET", uri) == CONTENT
    assert table.do("GET", uri, {"Range": "bytes=0-3"}) == CONTENT[:4]
    assert table.do("GET", uri, {"x-amz-te": "append-md5"}) == CONTENT, "as Java's client asks"
    assert table.do("HEAD", uri) == b""
    table.do("DELETE", uri)
    assert table.stored(key) is None


def test_an_object_is_written_in_parts(table: Table) -> None:
    uri = table.uri("data/parts.parquet")
    begun = table.do("POST", f"{uri}?uploads")
    upload = begun.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    part = table.sign("PUT", f"{uri}?partNumber=1&uploadId={upload}")
    etag = send("PUT", part, CONTENT).headers["etag"]
    assert b"<PartNumber>1</PartNumber>" in table.do("GET", f"{uri}?uploadId={upload}")
    body = (
        f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    )
    table.do("POST", f"{uri}?uploadId={upload}", body=body.encode())
    assert table.stored("data/parts.parquet") == CONTENT
    other = table.do("POST", f"{uri}?uploads").partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    table.do("DELETE", f"{uri}?uploadId={other}")


def test_content_in_chunks_with_a_checksum_at_its_end_is_written(table: Table) -> None:
    """As newer clients send it over TLS."""
    headers = {
        "Content-Encoding": "aws-chunked",
        "X-Amz-Trailer": "x-amz-checksum-crc32",
        "X-Amz-Decoded-Content-Length": "5",
    }
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    table.do("PUT", table.uri("data/chunks"), headers, body)
    assert table.stored("data/chunks") == b"hello"


def test_what_is_below_the_table_is_listed_and_nothing_else(table: Table) -> None:
    listed = table.do("GET", table.list_uri(f"{table.prefix}/", "&delimiter=%2F&max-keys=10&encoding-type=url"))
    assert b"/orders/data/" in listed
    assert b"orders2" not in listed
    assert b"1.parquet" in table.do("GET", table.list_uri(f"{table.prefix}/data/1"))


def test_objects_are_copied_inside_the_table(table: Table) -> None:
    table.do("PUT", table.uri("data/copy"), {"x-amz-copy-source": table.source("data/1.parquet")})
    assert table.stored("data/copy") == CONTENT


def test_what_a_request_needs(table: Table) -> None:
    uri, part = table.uri(), "?uploadId=abc"
    assert table.needs("GET", uri) is table.needs("HEAD", uri) is StorageAccess.READ
    assert table.needs("GET", table.list_uri(f"{table.prefix}/")) is StorageAccess.READ
    for method, query in (("PUT", ""), ("POST", "?uploads"), ("POST", part), ("PUT", f"{part}&partNumber=1")):
        assert table.needs(method, f"{uri}{query}") is StorageAccess.WRITE
    assert table.needs("GET", f"{uri}{part}") is table.needs("DELETE", f"{uri}{part}") is StorageAccess.WRITE
    assert table.needs("DELETE", uri) is StorageAccess.OWN


def test_no_key_is_sent(table: Table) -> None:
    signed = table.sign("GET", table.uri())
    assert SECRET not in repr(dict(signed.headers))
    for shown in (repr(signed), repr(table.signer), repr(UnsignedRequest("GET", "", {"a": [SECRET]}))):
        assert SECRET not in shown
        assert KEY not in shown


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_what_leads_out_of_the_table_is_not_signed(table: Table, attack: Attack) -> None:
    with pytest.raises(PermissionDeniedError, match="is not signed"):
        table.sign(*on(attack, table.s3, table.location))


@given(
    st.lists(st.sampled_from(["..", ".", "%2e", "%2E", "%252e", "/", "%2F", "%5c", "a", "%25", "+", "orders", ""])),
    st.sampled_from(["", "?list-type=2", "?acl", "?uploads", "?uploadId=a", "?x-id=a"]),
)
def test_whatever_is_signed_stays_in_the_table(pieces: list[str], query: str) -> None:
    address = S3Address("http", ("127.0.0.1:1",), "r")
    request = UnsignedRequest("GET", f"http://127.0.0.1:1/b/team/orders/{''.join(pieces)}{query}", {})
    try:
        action = s3_requests.read(request, address, "s3://b/team/orders")
    except PermissionDeniedError:
        return
    path = urlsplit(action.url).path
    for _ in range(4):
        assert path.startswith("/b/team/orders/")
        assert {"..", "."}.isdisjoint(path.split("/"))
        path = unquote(path)


def test_the_bucket_may_be_in_the_host_on_aws_alone() -> None:
    address = S3Address.of({"aws_region": "eu-central-1"})
    assert address is not None
    location = "s3://lake/team/orders"
    for host in ("s3.eu-central-1.amazonaws.com", "s3.amazonaws.com"):
        for uri in (f"https://lake.{host}/team/orders/a", f"https://{host}:443/lake/team/orders/a"):
            assert s3_requests.read(UnsignedRequest("GET", uri, {}), address, location).access is StorageAccess.READ
        listing = f"https://lake.{host}/?list-type=2&prefix=team%2Forders%2F"
        assert s3_requests.read(UnsignedRequest("GET", listing, {}), address, location)
    for uri in (
        "https://other.s3.amazonaws.com/team/orders/a",
        "https://other.s3.amazonaws.com/lake/team/orders/a",
        "https://lake.s3.amazonaws.com/lake/team/orders/a",
        "https://s3.us-east-1.amazonaws.com/lake/team/orders/a",
        "https://lake.s3.eu-central-1.amazonaws.com.example.com/team/orders/a",
        "http://lake.s3.amazonaws.com/team/orders/a",
    ):
        with pytest.raises(PermissionDeniedError):
            s3_requests.read(UnsignedRequest("GET", uri, {}), address, location)


def test_some_storages_and_locations_are_not_signed_for(s3: S3) -> None:
    options = s3.storage_options
    assert RequestSigner.of(options, "gs://bucket/warehouse") is None
    assert RequestSigner.of(options, "/srv/warehouse") is None
    assert RequestSigner.of({"aws_access_key_id": "a"}, "s3://b/w") is None, "neither an address nor a region"
    assert RequestSigner.of({**options, "aws_virtual_hosted_style_request": "true"}, "s3://b/w") is None
    assert RequestSigner.of({**options, "aws_skip_signature": "true"}, "s3://b/w") is None
    signer = RequestSigner.of(options, "s3://b/w")
    assert signer is not None
    request = UnsignedRequest("GET", f"{s3.endpoint}/b/w/a%2541", {})
    for location in ("s3://b", "s3://b/w/..", "s3://b/w/a%41"):
        with pytest.raises(InvalidInputError):
            signer.read(request, location)


# -- what is done with a signature ---------------------------------------------------------------


def test_a_signature_serves_for_its_request_alone(table: Table) -> None:
    uri = table.uri("data/signed")
    signed = table.sign("PUT", uri)
    secret = f"{table.root.removeprefix('s3:/')}/secret/file"
    assert send("PUT", signed, b"", x_amz_copy_source=secret).status == 403
    assert send("PUT", signed, CONTENT, x_amz_acl="public-read").status == 403
    for other in (f"{uri}?acl", f"{uri}?tagging", f"{uri}2", table.uri("secret", of="orders2")):
        assert send("PUT", SignedRequest(other, signed.headers), CONTENT).status == 403
    assert send("DELETE", SignedRequest(table.uri(), signed.headers)).status == 403
    listing = table.sign("GET", table.list_uri(f"{table.prefix}/"))
    around = table.list_uri(table.prefix.rpartition("/")[0])
    assert send("GET", SignedRequest(around, listing.headers)).status == 403
    copied = table.sign("PUT", uri, {"x-amz-copy-source": table.source("data/1.parquet")})
    changed = {**copied.headers, "x-amz-copy-source": [secret]}
    assert send("PUT", SignedRequest(uri, changed)).status == 403
    assert table.stored("data/signed") is None
    assert send("PUT", signed, CONTENT).status == 200
    assert table.stored("data/signed") == CONTENT


def test_nothing_is_written_where_headers_can_be_added_to_a_signature() -> None:
    """moto looks at no signature."""
    with moto.serve() as server:
        server.client("s3").create_bucket(Bucket="lake")
        options = {
            "aws_endpoint": server.endpoint,
            "aws_access_key_id": moto.KEY,
            "aws_secret_access_key": moto.SECRET,
            "aws_region": moto.REGION,
            "allow_http": "true",
        }
        signer = RequestSigner.of(options, "s3://lake/warehouse")
        assert signer is not None
        assert not signer.is_bound()
        for method, signs in (("GET", True), ("DELETE", True), ("PUT", False)):
            request = UnsignedRequest(method, f"{server.endpoint}/lake/warehouse/t/a", {})
            action = signer.read(request, "s3://lake/warehouse/t")
            if signs:
                assert signer.sign(action, request).headers
            else:
                with pytest.raises(PermissionDeniedError, match="not part of a signature"):
                    signer.sign(action, request)
        assert "Contents" not in server.client("s3").list_objects_v2(Bucket="lake"), "nothing is left of the try"
