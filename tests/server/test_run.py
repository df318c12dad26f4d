"""`lanceway up` as a process: its start, its end, its addresses."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme

from tests.processes import lanceway as program
from tests.server.http.test_streaming import connected, head, serving
from tests.server.server_helpers import ask, count, created, path, refused, sent, space, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run, free_ports

UP = [sys.executable, "-m", "lanceway", "up"]


@pytest.fixture
def own(whole_run: Run) -> Iterator[Lanceway]:
    """A server that a test may stop."""
    server = lanceway.start(whole_run)
    yield server
    if server.process is not None and server.process.poll() is None:
        server.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_begun_is_finished(own: Lanceway, number: signal.Signals) -> None:
    """An insert whose second half comes after the signal is committed and answered; then the server is gone."""
    id_ = created(own, 1)
    body = b"".join(sent(iter(table(*range(5000)).to_batches(max_chunksize=500))))
    half, pid = len(body) // 2, int(_listeners(own)[0])
    with connected(own) as connection:
        connection.sendall(head(own, path("table", id_, "insert"), "last", len(body)) + body[:half])
        # The upload is known to have begun once another request, sent later, is answered.
        assert count(own, id_) == 1
        os.kill(pid, number)
        while _accepts(own):
            time.sleep(0.05)
        connection.sendall(body[half:])
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    assert b'"num_inserted_rows":5000' in answer
    assert own.process is not None
    assert own.process.wait(timeout=60) == 0
    assert "Traceback" not in own.lines()


def _accepts(server: Lanceway) -> bool:
    try:
        connected(server).close()
    except OSError:
        return False
    return True


def test_several_processes_are_one_server(whole_run: Run) -> None:
    server = lanceway.start(whole_run, workers=2)
    id_ = created(server, 1, 2)
    for _ in range(40):
        assert count(server, id_) == 2
    with server.client() as client:
        page = client.get("/metrics").text
    (counted,) = re.findall(r'^lanceway_requests_total\{operation="count_table_rows",status="200"\} (\S+)', page, re.M)
    assert float(counted) == 40, "whichever process is asked, it tells of all"
    assert "python_info" not in page
    processes = set(_children(_listeners(server)))
    assert len(processes) >= 2
    assert server.stop() == 0
    wait_for_the_end_of(processes)


def test_the_processes_end_with_the_one_that_started_them(whole_run: Run) -> None:
    server = lanceway.start(whole_run, workers=2)
    parent = _listeners(server)[0]
    workers = _children([parent])
    assert len(workers) >= 2
    os.kill(int(parent), signal.SIGKILL)
    wait_for_the_end_of(set(workers))


def test_one_process_that_dies_is_started_again(own: Lanceway) -> None:
    id_, pid = created(own, 1, 2), serving(own)
    os.kill(pid, signal.SIGSEGV)
    wait_for_the_end_of({str(pid)})
    with own.client(transport=httpx.HTTPTransport(retries=20)) as client:  # while none accepts
        answer = client.post(f"/lance/v1/{path('table', id_, 'count_rows')}", json={})
    assert answer.json() == 2
    assert serving(own) != pid
    (line,) = (json.loads(line) for line in own.lines().splitlines() if "was started again" in line)
    assert (line["pid"], line["status"]) == (pid, -signal.SIGSEGV)


def wait_for_the_end_of(processes: set[str]) -> None:
    deadline = time.monotonic() + 60
    while any(
        Path(f"/proc/{pid}/cwd").exists() for pid in processes
    ):  # one that has ended and waits to be noticed has none
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _listeners(server: Lanceway) -> list[str]:
    """The process that was started, which all others come from."""
    assert server.process is not None
    return _children([str(server.process.pid)])


def _children(parents: list[str]) -> list[str]:
    found: list[str] = []
    for parent in parents:
        for file in Path(f"/proc/{parent}/task").glob("*/children"):
            found += file.read_text().split()
    return found


def test_behind_a_proxy_with_a_prefix(whole_run: Run) -> None:
    """Whether the proxy cuts its prefix off or not."""
    server = lanceway.start(whole_run, settings='[server]\nroot_path = "/data/lanceway/"\n')
    with server.client() as client:
        for prefix in ("", "/data/lanceway"):
            assert client.get(f"{prefix}/lance/v1/namespace/%24/list").json() == {"namespaces": ["lake"]}
            assert client.get(f"{prefix}/health").status_code == 200
            assert client.get(f"{prefix}/lanceway/v1/me").json()["name"] == "admin"
            described = client.get(f"{prefix}/openapi.json").json()
            assert described["servers"] == [{"url": "/data/lanceway/lance"}]
        assert refused(client.get("/data/other/health")) == (404, 0)
    assert server.printed(f"{server.address}/data/lanceway/lance")


def test_with_tls(whole_run: Run, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    for number, part in enumerate(certificate.cert_chain_pems):
        part.write_to_path(tmp_path / "cert.pem", append=bool(number))
    server = lanceway.start(
        whole_run,
        arguments=("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")),
        scheme="https",
        tls=str(tmp_path / "ca.pem"),
    )
    assert count(server, created(server, 1, 2)) == 2
    assert server.uri in server.lines()
    with pytest.raises(httpx.HTTPError), httpx.Client(verify=ssl.create_default_context()) as client:
        client.get(f"{server.address}/health")


ORIGIN = {"origin": "https://pages.example"}
PREFLIGHT = {**ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}


def test_pages_of_other_origins_may_not_ask(server: Lanceway) -> None:
    with server.client() as client:
        assert "access-control-allow-origin" not in client.get("/health", headers=ORIGIN).headers
        assert client.options("/lance/v1/table/x/describe", headers=PREFLIGHT).status_code != 200


def test_unless_they_are_named(whole_run: Run) -> None:
    server = lanceway.start(whole_run, settings='[server]\ncors_origins = "https://pages.example"\n')
    with server.client() as client:
        allowed = client.options("/lance/v1/table/x/describe", headers=PREFLIGHT)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://pages.example"
        refusal = client.post("/lance/v1/table/lake%24x/describe", headers=ORIGIN)
        assert refusal.headers["access-control-allow-origin"] == "https://pages.example", "errors can be read too"
        other = {**PREFLIGHT, "origin": "https://other.example"}
        assert client.options("/lance/v1/table/x/describe", headers=other).status_code == 400


# -- what a terminal shows -----------------------------------------------------------------------


def test_the_first_start_shows_the_token_to_somebody_who_looks(tmp_path: Path) -> None:
    first = _on_a_terminal(tmp_path / "home")
    (token,) = re.findall(r"lw_\w+", first)
    assert token == (tmp_path / "home" / "admin-token").read_text().strip()
    second = _on_a_terminal(tmp_path / "home")
    assert "lw_" not in second
    assert "admin-token" in second


def _on_a_terminal(home: Path) -> str:
    """What a start prints, until it says what to try next; it is ended by Ctrl-C."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*UP, "--home", str(home), "--port", "0"], stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    try:
        while b'>>> root["lake.team.vegetables"]' not in shown:
            assert select.select([ours], [], [], 120)[0], shown
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()  # nothing, if it has ended
        process.wait()
        os.close(ours)
    return shown.decode()


def test_elsewhere_it_says_only_where_the_token_lies(server: Lanceway) -> None:
    assert server.token not in server.lines()
    assert str(server.home / "admin-token") in server.lines()


def test_for_programs(tmp_path: Path) -> None:
    command = [*UP, "--home", str(tmp_path / "home"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.terminate()
    assert process.returncode == 0
    assert told["lance"] == f"{told['address']}/lance"
    assert told["iceberg"] == f"{told['address']}/iceberg"
    assert Path(told["admin_token"]).stat().st_mode & 0o777 == 0o600


def refusal(*arguments: str, environment: dict[str, str] | None = None) -> str:
    done = program("up", *arguments, **(environment or {}))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_keeps_it_from_starting_is_one_line(tmp_path: Path) -> None:
    home = ("--home", str(tmp_path / "home"))
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as taken:
        said = refusal(*home, "--port", str(taken.getsockname()[1]))
        assert "cannot listen on 127.0.0.1" in said
    assert not (tmp_path / "home").exists()
    assert "there is no file" in refusal(*home, "--tls-cert", "no.pem", "--tls-key", "no.pem").lower()
    assert "anonymous" in refusal(*home, "--anonymous", "--host", "0.0.0.0").lower()
    assert not (tmp_path / "home").exists()
    (tmp_path / "file").write_text("")
    assert "cannot be created" in refusal("--home", str(tmp_path / "file"))
    assert "catalogs.lake" in refusal(
        *home, environment={"LANCEWAY_CATALOGS__LAKE__TYPE": "dir", "LANCEWAY_CATALOGS__LAKE__PATH": "x"}
    )


@pytest.mark.parametrize("separator", ["::", ".", "a"])
def test_a_separator_that_cannot_be_keeps_it_from_starting(tmp_path: Path, separator: str) -> None:
    home = tmp_path / "home"
    said = refusal("--home", str(home), environment={"LANCEWAY_SEPARATOR": separator})
    assert f"The separator {separator!r} is not allowed" in said
    assert "Try" in said
    assert not (home / "admin-token").exists()


# -- mounts --------------------------------------------------------------------------------------


def test_a_dead_catalog_holds_up_nobody_else(whole_run: Run, tmp_path: Path) -> None:
    """One whose server accepts and is silent: its own branch is 17 within its deadline."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = (
            f'[catalogs.files]\ntype = "dir"\npath = "{tmp_path}"\n'
            f'[catalogs.silent]\ntype = "rest"\nuri = "{uri}"\ndeadline = 1\nthreads = 2\n'
            "timeout = 3\nretries = 0\n"  # for when the server stops, and waits for what it has begun
        )
        server = lanceway.start(whole_run, settings=settings)
        answers: list[httpx.Response] = []
        waiting = [
            threading.Thread(target=lambda: answers.append(ask(server, "table", ["silent", "t"], "describe")))
            for _ in range(6)
        ]
        for thread in waiting:
            thread.start()
        assert ask(server, "namespace", [], "list").json()["namespaces"] == ["files", "lake", "silent"]
        assert ask(server, "namespace", ["silent"], "describe").json()["properties"]["lanceway.type"] == "rest"
        assert ask(server, "namespace", ["files"], "table/list").json()["tables"] == []
        assert count(server, created(server, 1)) == 1
        for thread in waiting:
            thread.join()
        assert [refused(answer) for answer in answers] == [(503, 17)] * 6
        assert all("silent" in answer.json()["error"] for answer in answers)
        assert all("retry-after" in answer.headers for answer in answers)
        assert refused(server.ask("GET", "table")) == (503, 17), "a list is complete or none"
        assert space(server)
        server.stop()
