"""Storage options that come over HTTP: credentials of the client's own, and no address."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.server.server_helpers import Id, ask, count, refused, space, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.listener import Listener, listen
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, S3, SECRET

MINE = {"aws_access_key_id": "MYKEYID", "aws_secret_access_key": "my-secret"}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listen() as made:
        yield made


@pytest.fixture(scope="module")
def on_s3(whole_run: Run, s3: S3) -> Iterator[Lanceway]:
    options = "".join(f'storage.{key} = "{value}"\n' for key, value in s3.storage_options.items())
    folder = f'[catalogs.folder]\ntype = "dir"\npath = "{s3.prefix()}"\nlayout = "manifest"\n{options}'
    started = lanceway.start(whole_run, settings=f'[server]\nwarehouse = "{s3.prefix()}"\n{options}\n{folder}')
    yield started
    started.stop()


@pytest.fixture(params=["lake", "folder"])
def id_(request: pytest.FixtureRequest, on_s3: Lanceway) -> Id:
    made = space(on_s3)
    if request.param != "lake":
        made = [request.param, made[-1]]
        assert ask(on_s3, "namespace", made, "create").status_code == 200
    return [*made, "t"]


def create(server: Lanceway, id_: Id, options: dict[str, str], mode: str = "create") -> httpx.Response:
    params = {"mode": mode, "storage_options": json.dumps(options)}
    return ask(server, "table", id_, "create", content=stream(table(1, 2)), params=params)


@pytest.mark.parametrize("key", ["aws_endpoint", "AWS_ENDPOINT", "endpoint", "proxy_url", "aws_endpoint_url"])
@pytest.mark.parametrize("mine", [{}, MINE])
def test_nothing_is_sent_to_an_address_of_the_client(
    on_s3: Lanceway, id_: Id, listener: Listener, key: str, mine: dict[str, str]
) -> None:
    for mode in ("create", "overwrite"):
        answer = create(on_s3, id_, {key: listener.endpoint, "allow_http": "true", **mine}, mode)
        assert refused(answer) == (400, 13)
        assert repr(key) in answer.json()["error"]
    assert refused(create(on_s3, id_, {"aws_region": f"{listener.endpoint.removeprefix('http://')}/#"})) == (400, 13)
    assert listener.heads == []
    assert ask(on_s3, "table", id_, "exists").status_code == 404


def test_a_client_writes_with_keys_of_its_own(on_s3: Lanceway, id_: Id) -> None:
    assert refused(create(on_s3, id_, MINE))[0] == 401
    assert refused(create(on_s3, id_, {"aws_access_key_id": KEY})) == (400, 13)
    assert ask(on_s3, "table", id_, "exists").status_code == 404
    assert create(on_s3, id_, {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}).status_code == 200
    assert create(on_s3, id_, {"aws_region": "us-east-1", "timeout": "30s"}, "overwrite").status_code == 200
    assert count(on_s3, id_) == 2
