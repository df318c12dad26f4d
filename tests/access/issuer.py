"""An OpenID Connect issuer: real keys that it signs with, and a real HTTP server that tells the public ones."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "lanceway"


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


# Made once: to make one takes long.
FIRST, SECOND, STRANGER = rsa_key(), rsa_key(), rsa_key()
CURVE, EDWARDS = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()


def public(key: Any, kid: str | None, **more: str) -> dict[str, Any]:
    """A key's public half, as a JWKS has it."""
    kinds = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((found for kind, found in kinds.items() if isinstance(key, kind)), OKPAlgorithm)
    found: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    return {**found, **({"kid": kid} if kid else {}), **more}


class Issuer:
    """Listens on loopback. What it answers may be changed while it runs."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [public(FIRST, "first", use="sig")]
        self.answer: bytes | None = None  # instead of the keys
        self.status = 200
        self.asked = 0
        self.silent = threading.Event()  # set it, and nothing is answered until it is cleared
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.start()

    def __enter__(self) -> Issuer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def name(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def jwks_uri(self) -> str:
        return f"{self.name}/keys"

    def start(self) -> None:
        """Listen, after a stop on the same port."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                while issuer.silent.is_set():
                    time.sleep(0.01)
                body = json.dumps({"keys": issuer.keys}).encode() if issuer.answer is None else issuer.answer
                self.send_response(issuer.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.silent.clear()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def claims(self, **changes: Any) -> dict[str, Any]:
        """What a good token says; a change to None takes a claim away."""
        now = int(time.time())
        usual = {"iss": self.name, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 300}
        return {key: value for key, value in {**usual, **changes}.items() if value is not None}

    def sign(
        self, key: Any = FIRST, *, kid: str | None = "first", algorithm: str | None = "RS256", **changes: Any
    ) -> str:
        headers = {"kid": kid} if kid else None
        return jwt.encode(self.claims(**changes), key, algorithm=algorithm, headers=headers)
