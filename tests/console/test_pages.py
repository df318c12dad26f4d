"""The console's files: how many bytes, with which headers, and what they may do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from lanceway.console.files import POLICY, SAMPLE, console_files, console_pages
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

MOST_BYTES = 150 * 1024
MEDIA = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@pytest.fixture(scope="module")
def client(server: Lanceway) -> Iterator[httpx.Client]:
    with server.client(headers={}) as client:
        yield client


def assets(document: str) -> list[str]:
    return re.findall(r'(?:href|src)="(console/[^"]+)"', document)


def test_all_of_it_is_small() -> None:
    # The sample's rows are data, which are asked for where someone wants them.
    pages = [page for path, page in console_pages().items() if not path.endswith(SAMPLE)]
    assert sum(len(page.body) for page in pages) < MOST_BYTES
    assert sum(len(page.compressed) for page in pages) < MOST_BYTES / 2


def test_what_is_sent_is_compressed_for_those_who_take_that(client: httpx.Client) -> None:
    for path in ("/", f"/{assets(client.get('/').text)[0]}"):
        small = client.get(path, headers={"accept-encoding": "gzip, br"})
        whole = client.get(path, headers={"accept-encoding": "identity"})
        assert (small.headers["content-encoding"], "content-encoding" in whole.headers) == ("gzip", False)
        assert int(small.headers["content-length"]) < int(whole.headers["content-length"]) == len(whole.content)
        assert small.content == whole.content  # the client has unpacked it
        assert small.headers["vary"] == "accept-encoding"


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name, content in console_files().items():
        text = content.decode()
        addresses = set(re.findall(r"https?://[\w.]+", text))
        assert addresses <= {"http://www.w3.org"}, name


def test_no_text_can_become_markup_or_code() -> None:
    for name, content in console_files().items():
        assert not re.search(
            rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", content
        ), name


def test_the_document_is_asked_for_each_time_and_limits_itself(client: httpx.Client) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    unchanged = client.get("/", headers={"if-none-match": answer.headers["etag"]})
    assert (unchanged.status_code, "content-length" in unchanged.headers) == (304, False)
    assert client.head("/").content == b""


def test_what_the_document_needs_never_changes_under_its_path(client: httpx.Client) -> None:
    paths = assets(client.get("/").text)
    assert {path.split("/", 2)[2] for path in paths} == set(console_files()) - {"index.html"}
    for path in paths:
        answer = client.get(f"/{path}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == f"{MEDIA[path.rpartition('.')[2]]}; charset=utf-8"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_other_paths_and_methods_are_refused(client: httpx.Client) -> None:
    path = assets(client.get("/").text)[0]
    assert client.get("/console/style.css").status_code == 404
    assert client.get(f"/{path}/../../pages.py").status_code == 404
    assert (client.post("/").status_code, client.post("/").headers["allow"]) == (405, "GET, HEAD")


def test_it_is_served_below_the_prefix_of_a_proxy(whole_run: Run) -> None:
    server = lanceway.start(whole_run, settings='[server]\nroot_path = "/data"\nanonymous = true\n', prefix="/data")
    with server.client(base_url=server.address, headers={}) as client:
        answer = client.get("/")
        assert answer.status_code == 200
        assert 'name="lanceway-token" content="optional"' in answer.text
        assert client.get(f"/{assets(answer.text)[0]}").status_code == 200
