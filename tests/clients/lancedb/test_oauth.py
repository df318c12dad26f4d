"""The stock client signs in by OAuth, at a real issuer that the server trusts."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import lancedb
import pytest
from lancedb.remote import OAuthConfig

from tests.access.issuer import AUDIENCE, Issuer
from tests.clients.lancedb.side import fruit
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

CLIENT, SECRET = "robot", "what-only-it-knows"


class SignIn:
    """Where clients of an issuer ask for tokens: its discovery document, and its token endpoint."""

    def __init__(self, issuer: Issuer) -> None:
        self.asked: list[dict[str, str]] = []
        sign_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = {"issuer": sign_in.address, "token_endpoint": f"{sign_in.address}/token"}
                self.answer(200, {**known, "jwks_uri": issuer.jwks_uri})

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                basic = self.headers.get("authorization", "").removeprefix("Basic ")
                sign_in.asked.append({key: values[0] for key, values in form.items()})
                if base64.b64decode(basic).decode() != f"{CLIENT}:{SECRET}":
                    self.answer(401, {"error": "invalid_client"})
                    return
                token = issuer.sign(sub=CLIENT, aud=form.get("audience", [AUDIENCE])[0])
                self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 300})

            def answer(self, status: int, body: dict[str, Any]) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def sign_in(issuer: Issuer) -> Iterator[SignIn]:
    sign_in = SignIn(issuer)
    yield sign_in
    sign_in.stop()


@pytest.fixture(scope="module")
def trusting(whole_run: Run, issuer: Issuer) -> Iterator[Lanceway]:
    """A server that trusts the issuer; nothing is granted to its users yet."""
    settings = (
        f'[server]\noidc_issuer = "{issuer.name}"\noidc_alias = "acme"\noidc_audience = "{AUDIENCE}"\n'
        f'oidc_jwks_uri = "{issuer.jwks_uri}"\n'
    )
    server = lanceway_server.start(whole_run, name="trusting", settings=settings)
    yield server
    server.stop()


async def _connect(server: Lanceway, sign_in: SignIn, secret: str) -> Any:
    config = OAuthConfig(sign_in.address, CLIENT, ["lance"], client_secret=secret, audience=AUDIENCE)
    return await lancedb.connect_async("db://lake", host_override=server.uri, oauth_config=config)


def test_client_credentials(trusting: Lanceway, sign_in: SignIn) -> None:
    async def use() -> None:
        db = await _connect(trusting, sign_in, SECRET)
        # Whom the issuer names is a user of this server, who has no rights yet.
        with pytest.raises(Exception, match="403"):
            await db.create_table("fruit", fruit(1, 2))
        role = {"role": "all", "object": "metalake"}
        rights = ("USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE", "SELECT_TABLE")
        with trusting.client(base_url=f"{trusting.address}/lanceway/v1") as admin:
            admin.post("/roles", json={"name": "all"}).raise_for_status()
            changes = [{**role, "privilege": right} for right in rights]
            admin.post("/grants", json={"changes": changes}).raise_for_status()
            admin.post("/roles/all/give", json={"user": f"{CLIENT}@acme"}).raise_for_status()
        table = await db.create_table("fruit", fruit(1, 2))
        assert [row["id"] for row in await table.query().to_list()] == [1, 2]

    asyncio.run(use())
    assert {request["grant_type"] for request in sign_in.asked} == {"client_credentials"}


def test_a_wrong_secret(trusting: Lanceway, sign_in: SignIn) -> None:
    async def use() -> None:
        await (await _connect(trusting, sign_in, "wrong")).list_tables()

    with pytest.raises(Exception, match="invalid_client"):
        asyncio.run(use())
