"""An Iceberg REST catalog over a bad network: what is asked again, what is not, and what the caller is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.errors import (
    ConcurrentModificationError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    ThrottlingError,
    UnauthenticatedError,
)
from tests.catalogs.iceberg.iceberg_helpers import connect, create, namespace
from tests.servers.iceberg import Iceberg
from tests.servers.proxy import Break, Delay, Fault, Halve, Lose, Proxy, Refuse
from tests.servers.seaweedfs import KEY, S3, SECRET, TABLE_BUCKET

SOON = {"Retry-After": "0"}


@pytest.fixture
def proxy(iceberg: Iceberg) -> Iterator[Proxy]:
    with Proxy(iceberg.endpoint) as running:
        yield running


@pytest.fixture
def catalog(proxy: Proxy, tmp_path: Path) -> Iterator[IcebergCatalog]:
    with connect(proxy.endpoint, tmp_path, max_retries=2) as catalog:
        yield catalog


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(429, SOON),
        Refuse(502),
        Refuse(503, SOON),
        Refuse(504),
        Break(),
        Lose(),
        Halve(),
    ],
    ids=str,
)
def test_a_read_is_asked_again(catalog: IcebergCatalog, proxy: Proxy, fault: Fault) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    before = len(proxy.requests)
    proxy.next(fault, fault)
    assert catalog.describe_table({"id": table}).location
    assert len(proxy.requests) - before == 3
    assert proxy.waiting == []


def test_a_server_that_trips_over_a_table_is_asked_once_more(catalog: IcebergCatalog, proxy: Proxy) -> None:
    # So it does when somebody drops the table at that very moment.
    table = [*namespace(catalog), "t"]
    proxy.next(Refuse(500, method="POST"))
    create(catalog, table)
    before = len(proxy.requests)
    proxy.next(Refuse(500))
    assert catalog.describe_table({"id": table}).location
    assert len(proxy.requests) - before == 2
    proxy.next(Refuse(500), Refuse(500))
    with pytest.raises(InternalError):
        catalog.describe_table({"id": table})
    assert proxy.waiting == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Refuse(429, SOON), ThrottlingError),
        (Refuse(503, SOON), ServiceUnavailableError),
        (Break(), ServiceUnavailableError),
        (Halve(), ServiceUnavailableError),
    ],
    ids=str,
)
def test_patience_has_an_end(
    catalog: IcebergCatalog, proxy: Proxy, fault: Fault, error: type[LanceNamespaceError]
) -> None:
    space = namespace(catalog)
    before = len(proxy.requests)
    proxy.next(*[fault] * 5)
    with pytest.raises(error):
        catalog.describe_namespace({"id": space})
    assert len(proxy.requests) - before == 3


def test_a_server_that_wants_to_be_left_alone_for_long_is(catalog: IcebergCatalog, proxy: Proxy) -> None:
    space = namespace(catalog)
    before = len(proxy.requests)
    proxy.next(Refuse(429, {"Retry-After": "3600"}))
    with pytest.raises(ThrottlingError):
        catalog.describe_namespace({"id": space})
    assert len(proxy.requests) - before == 1


def test_a_server_that_is_too_slow(proxy: Proxy) -> None:
    catalog = connect(proxy.endpoint, read_timeout=500, max_retries=0)
    space = namespace(connect(proxy.endpoint))
    catalog.describe_namespace({"id": space})
    proxy.next(Delay(5))
    with pytest.raises(ServiceUnavailableError, match="in time"):
        catalog.describe_namespace({"id": space})


def test_nobody_listens() -> None:
    with pytest.raises(ServiceUnavailableError, match="cannot be reached"):
        connect("http://127.0.0.1:9", max_retries=0).list_namespaces({"id": ["wh"]})


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Refuse(400, body=b'{"error":{"message":"odd","type":"BadRequestException","code":400}}'), 13),
        (Refuse(401), 16),
        (Refuse(403, body=b"<html>no</html>"), 15),
        (Refuse(404), 4),
        (Refuse(406), 0),
        (Refuse(409), 14),
        (Refuse(419), 16),
        (Refuse(422), 13),
        (Refuse(500, body=b'{"error":{"message":"hm","type":"RuntimeException","code":500}}'), 18),
        (Refuse(500, body=b"[" * 100_000), 18),
        (Refuse(302, {"Location": "http://elsewhere.example/"}), 18),
        (Refuse(200, body=b"<html>a portal</html>"), 18),
        (Refuse(200, body=b'{"__type":"UnknownOperationException"}'), 18),
        (Refuse(200, body=b'{"metadata":{"location":7}}'), 18),
        (Refuse(200), 18),
        (Halve(honest=True), 18),
    ],
    ids=str,
)
def test_what_an_answer_means(catalog: IcebergCatalog, proxy: Proxy, fault: Fault, code: int) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    proxy.next(*[fault] * (2 if code == 18 else 1))  # a server that broke down is asked once more
    with pytest.raises(LanceNamespaceError) as refused:
        catalog.describe_table({"id": table})
    assert refused.value.code == ErrorCode(code)


# -- changes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [Lose(method="POST"), Halve(method="POST"), Refuse(503, SOON, method="POST")], ids=str
)
def test_a_declared_table_is_recognised_by_its_claim(catalog: IcebergCatalog, proxy: Proxy, fault: Fault) -> None:
    space = namespace(catalog)
    proxy.next(fault)
    declared = catalog.declare_table({"id": [*space, "t"]})
    assert proxy.waiting == []
    assert catalog.describe_table({"id": [*space, "t"]}).location == declared.location
    with pytest.raises(TableAlreadyExistsError):
        catalog.declare_table({"id": [*space, "t"]})


def test_a_name_that_is_taken_stays_so_after_a_lost_answer(catalog: IcebergCatalog, proxy: Proxy) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    proxy.next(Lose(method="POST"))
    with pytest.raises(TableAlreadyExistsError):
        catalog.declare_table({"id": table})
    assert catalog.count_table_rows({"id": table}).count == 3


def test_a_lost_answer_to_a_deregistration_is_looked_up(catalog: IcebergCatalog, proxy: Proxy) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    proxy.next(Lose(method="DELETE"))
    assert catalog.deregister_table({"id": table}).location
    assert proxy.sent("DELETE") == 1
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": table})


def test_a_deregistration_that_did_not_arrive_is_told(catalog: IcebergCatalog, proxy: Proxy) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    proxy.next(Break(method="DELETE"))
    with pytest.raises(ServiceUnavailableError):
        catalog.deregister_table({"id": table})
    assert catalog.count_table_rows({"id": table}).count == 3


def test_a_namespace_is_not_made_twice(catalog: IcebergCatalog, proxy: Proxy) -> None:
    space = namespace(catalog)
    proxy.next(Lose(method="POST"))
    with pytest.raises(ServiceUnavailableError, match="not known whether"):
        catalog.create_namespace({"id": [*space, "b"]})
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace({"id": [*space, "b"]})


def test_a_server_that_broke_down_over_a_namespace(catalog: IcebergCatalog, proxy: Proxy) -> None:
    space = namespace(catalog)
    proxy.next(Refuse(500, method="POST"))
    with pytest.raises(InternalError):
        catalog.create_namespace({"id": [*space, "b"]})
    catalog.create_namespace({"id": [*space, "b"]})
    proxy.next(Refuse(500, method="POST"))  # as the reference server does to one of several who make the same one
    with pytest.raises(ConcurrentModificationError, match="is there now"):
        catalog.create_namespace({"id": [*space, "b"]})


# -- lists and the configuration -------------------------------------------------------------------


def test_a_list_is_never_shorter_than_it_should_be(catalog: IcebergCatalog, proxy: Proxy) -> None:
    space = namespace(catalog)
    for name in ("a", "b", "c"):
        catalog.declare_table({"id": [*space, name]})
    broken, denied, cut = (
        Refuse(500, path="/tables/b"),
        Refuse(403, path="/tables/b"),
        Halve(honest=True, path="/tables/b"),
    )
    for faults in ((broken, broken), (denied,), (cut,)):
        proxy.next(*faults)
        with pytest.raises(LanceNamespaceError):
            catalog.list_tables({"id": space})
    proxy.next(Refuse(404, path="/tables/b"))  # dropped between the list and the look
    assert catalog.list_tables({"id": space}).tables == ["a", "c"]


def test_a_list_that_does_not_end(catalog: IcebergCatalog, proxy: Proxy) -> None:
    space = namespace(catalog)
    page = b'{"identifiers":[],"next-page-token":"again"}'
    proxy.next(*[Refuse(200, body=page, path="/tables")] * 3)
    with pytest.raises(InternalError, match="does not end"):
        catalog.list_tables({"id": space})


def test_a_configuration_that_failed_is_asked_for_again(catalog: IcebergCatalog, proxy: Proxy) -> None:
    for fault, error in ((Refuse(500), InternalError), (Refuse(401), UnauthenticatedError)):
        proxy.next(fault)
        with pytest.raises(error):
            catalog.list_namespaces({"id": ["wh"]})
    assert namespace(catalog)


def test_an_endpoint_that_is_no_catalog(catalog: IcebergCatalog, proxy: Proxy) -> None:
    proxy.next(Refuse(404, body=b"<html>nothing here</html>"))
    with pytest.raises(InvalidInputError, match="not an Iceberg REST catalog"):
        catalog.list_namespaces({"id": ["wh"]})


def test_the_name_of_the_warehouse_is_the_last_resort(catalog: IcebergCatalog, proxy: Proxy) -> None:
    proxy.next(Refuse(404, path="/v1/namespaces"), Refuse(200, body=b'{"namespaces":[["a"]]}', path="/v1/my%20wh/"))
    assert catalog.list_namespaces({"id": ["my wh"]}).namespaces == ["a"]


@pytest.mark.parametrize(
    ("config", "path"),
    [
        (b'{"defaults":{"prefix":"main%7Cwh"},"overrides":{}}', "/v1/main%7Cwh/namespaces"),
        (b'{"defaults":{"prefix":"d"},"overrides":{"prefix":"catalogs/o"}}', "/v1/catalogs/o/namespaces"),
        (b'{"defaults":null,"overrides":{"prefix":"p","uri":"%s/deep/"}}', "/deep/v1/p/namespaces"),
        (b'{"defaults":{"prefix":"p"},"overrides":{"uri":"http://127.0.0.2:1/"}}', "/v1/p/namespaces"),
    ],
    ids=str,
)
def test_requests_go_where_the_server_wants_them(
    catalog: IcebergCatalog, proxy: Proxy, config: bytes, path: str
) -> None:
    proxy.next(Refuse(200, body=config.replace(b"%s", proxy.endpoint.encode()), path="/v1/config"))
    proxy.next(Refuse(200, body=b'{"namespaces":[["a"]]}', path=path))
    assert catalog.list_namespaces({"id": ["wh"]}).namespaces == ["a"]
    assert proxy.requests[-1] == ("GET", path)


def test_what_a_client_is_told_gives_way_to_what_the_server_insists_on(proxy: Proxy) -> None:
    for config, path in ((b'{"defaults":{"prefix":"d"}}', "/v1/mine/"), (b'{"overrides":{"prefix":"o"}}', "/v1/o/")):
        catalog = connect(proxy.endpoint, prefix="mine")
        proxy.next(Refuse(200, body=config, path="/v1/config"))
        proxy.next(Refuse(200, body=b'{"namespaces":[]}', path=path))
        assert catalog.list_namespaces({"id": ["wh"]}).namespaces == []


def test_unregister_is_preferred_where_the_server_has_it(catalog: IcebergCatalog, proxy: Proxy) -> None:
    table = create(catalog, [*namespace(catalog), "t"])
    endpoint = "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister"
    config = json.dumps({"defaults": {}, "overrides": {}, "endpoints": [endpoint]}).encode()
    proxy.next(Refuse(200, body=config, path="/v1/config"), Refuse(200, body=b"{}", path="/unregister"))
    again = connect(proxy.endpoint)
    again.deregister_table({"id": table})
    assert proxy.sent("POST", f"/tables/{table[-1]}/unregister") == 1
    assert proxy.sent("DELETE") == 0


# -- tokens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 419])
def test_a_token_that_ran_out_is_renewed_without_a_failure(s3: S3, status: int) -> None:
    with Proxy(s3.iceberg) as proxy:
        catalog = IcebergCatalog(endpoint=proxy.endpoint, credential=f"{KEY}:{SECRET}", scope="catalog")
        catalog.list_namespaces({"id": [TABLE_BUCKET]})
        assert proxy.sent("POST", "/v1/oauth/tokens") == 1
        time.sleep(1.1)  # this server's tokens say when they were made: those of one second are the same
        proxy.next(Refuse(status, path="/namespaces"))
        catalog.list_namespaces({"id": [TABLE_BUCKET]})
        assert proxy.sent("POST", "/v1/oauth/tokens") == 2


def test_a_token_may_come_from_elsewhere(s3: S3) -> None:
    with Proxy(s3.iceberg) as provider:
        uri = f"{provider.endpoint}/v1/oauth/tokens"
        settings = {"endpoint": s3.iceberg, "credential": f"{KEY}:{SECRET}", "oauth2-server-uri": uri}
        IcebergCatalog(**settings).list_namespaces({"id": [TABLE_BUCKET]})
        assert provider.requests == [("POST", "/v1/oauth/tokens")]


def test_wrong_credentials_are_told_without_repeating_them(s3: S3) -> None:
    for wrong in ({"credential": f"{KEY}:hush-hush"}, {"auth_token": "hush-hush"}):
        with pytest.raises(UnauthenticatedError) as refused:
            IcebergCatalog(endpoint=s3.iceberg, **wrong).list_namespaces({"id": [TABLE_BUCKET]})
        assert "hush" not in str(refused.value)
