"""The console's files as they are sent: a document, and all that it needs at paths that change with them.

The files hold nothing of the lake, and need no credentials: a browser asks the REST interfaces with its user's token.
What they may do is limited by a Content-Security-Policy: scripts and styles come from files alone, requests go to this
server alone, and no text can become markup (Trusted Types).
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from lanceway.console.sample import sample
from lanceway.console.shortening import short_module, short_style

Header = tuple[bytes, bytes]

DOCUMENT, SAMPLE = "index.html", "sample.arrow"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".arrow": "application/vnd.apache.arrow.stream",
}
# Where the document says where its files are, which modules it will need, and whether a token is needed.
_ASSETS, _PRELOADS, _TOKEN, _ISSUER = b"{assets}", b"<!-- preloads -->", b"{token}", b"{issuer}"
# Of the digest in a path, which each module's address repeats, and in an ETag.
_PATH_DIGITS, _ETAG_DIGITS = 8, 16
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFETY: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_FOR_EVER, _ASK_AGAIN = b"public, max-age=31536000, immutable", b"no-cache"


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A file as it is sent."""

    body: bytes
    compressed: bytes
    etag: bytes
    headers: tuple[Header, ...]

    def answer(self, *, gzip: bool) -> tuple[bytes, tuple[Header, ...]]:
        """Return the body and its headers, compressed for whoever takes that."""
        body = self.compressed if gzip else self.body
        encoding = ((b"content-encoding", b"gzip"),) if gzip else ()
        return body, (*self.headers, *encoding, (b"content-length", str(len(body)).encode()))


def console_pages(*, anonymous: bool = False, issuer: Mapping[str, str] | None = None) -> dict[str, ConsolePage]:
    """Return the console's files by their paths on a server; `anonymous` says that no token is needed.

    `issuer` is what the document tells of where people can sign in.
    """
    contents = {**console_files(), SAMPLE: sample()}
    base = f"console/{_digest(contents)}"
    pages = {f"/{base}/{name}": _page(name, body, _FOR_EVER) for name, body in contents.items() if name != DOCUMENT}
    return pages | {"/": _page(DOCUMENT, _document(contents, base, anonymous, issuer), _ASK_AGAIN)}


def console_files() -> Mapping[str, bytes]:
    """Return what is sent of the console's files, by their paths below `static`."""
    return dict(sorted(_files(files("lanceway.console") / "static")))


def _files(folder: Traversable, below: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{below}{entry.name}/")
        else:
            yield below + entry.name, _short(entry.name, entry.read_bytes())


def _short(name: str, content: bytes) -> bytes:
    if name.endswith(".js"):
        return short_module(content.decode()).encode()
    return short_style(content.decode()).encode() if name.endswith(".css") else content


def _digest(contents: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, body in contents.items():
        digest.update(f"{name} {len(body)}\n".encode() + body)
    return digest.hexdigest()[:_PATH_DIGITS]


def _document(contents: Mapping[str, bytes], base: str, anonymous: bool, issuer: Mapping[str, str] | None) -> bytes:
    """Return the document with the paths of its files, relative to it: a proxy may have a prefix of its own.

    It says whether one must sign in, so that it need not ask without a token first and be refused.
    """
    token = b"optional" if anonymous else b"required"
    preloads = "".join(
        f'<link rel="modulepreload" href="{base}/{name}">\n' for name in contents if name.endswith(".js")
    )
    document = contents[DOCUMENT].replace(_PRELOADS, preloads.encode())
    written = html.escape(json.dumps(issuer)).encode() if issuer else b""
    return document.replace(_ASSETS, base.encode()).replace(_TOKEN, token).replace(_ISSUER, written)


def _page(name: str, body: bytes, caching: bytes) -> ConsolePage:
    suffix = f".{name.rpartition('.')[2]}"
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:_ETAG_DIGITS]}"'.encode()
    own = (
        (b"content-type", _TYPES[suffix].encode()),
        (b"cache-control", caching),
        (b"etag", etag),
        (b"vary", b"accept-encoding"),
    )
    return ConsolePage(body, gzip.compress(body, mtime=0), etag, (*own, *_SAFETY))
