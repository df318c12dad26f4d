"""The way to a server by a proxy of the environment, and who is told what on it."""

from __future__ import annotations

import base64
import shutil
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.wire.http import Client
from lanceway.wire.settings import read_address
from lanceway.wire.transport import proxy_to
from tests.servers import faults as fake
from tests.servers.faults import Faults
from tests.wire.client_helpers import CHANGE, OK, READ

Connect = Callable[..., Client]
LOGIN = f"Basic {base64.b64encode(b'me:hush hush').decode()}"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def with_login(uri: str) -> str:
    return uri.replace("//", "//me:hush%20hush@")


@dataclass
class Tunnel:
    uri: str
    heads: list[bytes] = field(default_factory=list)


@contextmanager
def tunnel() -> Iterator[Tunnel]:
    """A proxy for TLS, once: it connects to where it is told, and hands on what it does not understand."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = Tunnel(f"http://127.0.0.1:{listening.getsockname()[1]}")

        def serve() -> None:
            connection, _ = listening.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            proxy.heads.append(head)
            host, port = head.split()[1].decode().rsplit(":", 1)
            with connection, socket.create_connection((host, int(port))) as onward:
                connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                back = threading.Thread(target=pump, args=[onward, connection])
                back.start()
                pump(connection, onward)
                back.join()

        serving = threading.Thread(target=serve)
        serving.start()
        yield proxy
        serving.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    with source.makefile("rb", buffering=0) as reading, target.makefile("wb", buffering=0) as writing:
        shutil.copyfileobj(reading, writing, 1)
    target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_hands_plain_requests_on(
    faults: Faults, connect: Connect, environment: pytest.MonkeyPatch, name: str
) -> None:
    environment.setenv(name, with_login(faults.uri))
    faults.will(OK)
    assert connect("http://catalog.example.com:81/base").send(CHANGE).status == 200
    assert faults.seen[0].target == "http://catalog.example.com:81/base/v1/x"
    assert faults.seen[0].headers["host"] == "catalog.example.com:81"
    assert faults.seen[0].headers["proxy-authorization"] == LOGIN


@pytest.mark.parametrize("hidden", ["127.0.0.1", "*", "other.example.com, 127.0.0.1"])
def test_no_proxy_is_asked_for_what_is_excepted(
    faults: Faults, connect: Connect, environment: pytest.MonkeyPatch, hidden: str
) -> None:
    environment.setenv("HTTP_PROXY", "http://me:hush@proxy.invalid:3128")
    environment.setenv("NO_PROXY", hidden)
    faults.will(OK)
    assert connect(faults.uri).send(CHANGE).status == 200
    assert "proxy-authorization" not in faults.seen[0].headers


def test_a_proxy_is_a_tunnel_for_tls(connect: Connect, environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with fake.faults(server_context(authority)) as server, tunnel() as proxy:
        environment.setenv("HTTPS_PROXY", with_login(proxy.uri))
        server.will(OK)
        client = connect(server.uri, **{"tls.ssl_ca_cert": str(tmp_path / "ca.pem")})
        assert client.send(READ).status == 200
        client.close()
    assert proxy.heads[0].startswith(f"CONNECT {server.uri.removeprefix('https://')} HTTP/1.".encode())
    assert LOGIN.encode() in proxy.heads[0]
    assert "proxy-authorization" not in server.seen[0].headers
    assert server.seen[0].target == "/v1/x"


def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


def test_a_tunnel_that_is_refused_leads_nowhere(
    faults: Faults, connect: Connect, environment: pytest.MonkeyPatch, naps: list[float]
) -> None:
    environment.setenv("HTTPS_PROXY", with_login(faults.uri))  # which knows no CONNECT
    with pytest.raises(ServiceUnavailableError, match=r"cannot be reached \(Tunnel connection failed") as refused:
        connect("https://catalog.example.com").send(CHANGE)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("scheme", "proxy"),
    [
        ("http", "socks5://me:hush@proxy:1080"),
        ("https", "https://me:hush@proxy"),
        ("http", "http://me:hush@:x"),
        ("http", "http://me:hush@proxy:x"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused(environment: pytest.MonkeyPatch, scheme: str, proxy: str) -> None:
    environment.setenv(f"{scheme.upper()}_PROXY", proxy)
    with pytest.raises(InvalidInputError, match="NO_PROXY") as refused:
        proxy_to(read_address(f"{scheme}://catalog.example.com"))
    assert "hush" not in str(refused.value)


def test_a_password_is_not_shown(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "proxy.example.com:3128")
    environment.setenv("HTTPS_PROXY", "http://me:hush@proxy.example.com:3128")
    plain, secret = (proxy_to(read_address(f"{scheme}://catalog.example.com")) for scheme in ("http", "https"))
    assert plain is not None
    assert secret is not None
    assert plain.address == secret.address == read_address("http://proxy.example.com:3128")
    assert base64.b64encode(b"me:hush").decode() not in repr(secret)
