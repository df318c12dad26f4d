"""A stand-in for an issuer's sign-in pages: no real one runs here. It keeps to RFC 6749 and 7636, over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import threading
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.access.issuer import AUDIENCE, Issuer

CLIENT = "console"


@dataclass
class Provider:
    """Asks who one is, sends the browser back with a code, and exchanges each code once."""

    issuer: Issuer
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    handed_out: list[str] = field(default_factory=list)
    user: str = "alice"
    audiences: tuple[str, str] = (AUDIENCE, CLIENT)  # of the access token and of the ID token

    def __post_init__(self) -> None:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
                if not self.path.startswith("/agreed"):
                    link = html.escape(f"/agreed?{urlencode(query)}")
                    refusal = html.escape(f"{query['redirect_uri']}?error=access_denied&state={query['state']}")
                    links = f'<a href="{link}">I agree</a> <a href="{refusal}">I refuse</a>'
                    page = f'<link rel="icon" href="data:,"><h1>Who are you?</h1>{links}'
                    self.answer(200, page.encode(), "text/html")
                    return
                code = uuid.uuid4().hex
                provider.codes[code] = query
                self.send_response(302)
                back = urlencode({"code": code, "state": query["state"]})
                self.send_header("location", f"{query['redirect_uri']}?{back}")
                self.send_header("content-length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                status, body = provider.exchange({key: values[0] for key, values in form.items()})
                self.answer(status, json.dumps(body).encode(), "application/json")

            def answer(self, status: int, content: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["code_challenge_method"] != "S256"
            or any(asked[key] != form.get(key) for key in ("client_id", "redirect_uri"))
            or form.get("grant_type") != "authorization_code"
        ):
            return 400, {"error": "invalid_grant", "error_description": "the code is not valid"}
        access, identity = (self.issuer.sign(sub=self.user, aud=audience) for audience in self.audiences)
        self.handed_out += [access, identity]
        return 200, {"access_token": access, "id_token": identity, "token_type": "Bearer", "expires_in": 300}

    def settings(self) -> str:
        """What a server's configuration says of it."""
        return (
            f'[server]\noidc_issuer = "{self.issuer.name}"\noidc_alias = "acme"\noidc_audience = "{AUDIENCE}"\n'
            f'oidc_jwks_uri = "{self.issuer.jwks_uri}"\noidc_client_id = "{CLIENT}"\n'
            f'oidc_authorization_uri = "{self.address}/authorize?prompt=login"\n'
            f'oidc_token_uri = "{self.address}/token"\n'
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
