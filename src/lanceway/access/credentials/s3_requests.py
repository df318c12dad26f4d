"""What one request to S3 would do with the files of a table: an allow-list, by which the server signs or refuses.

A signature lets its holder send the request as it is, with the server's own keys. So nothing is signed that is not
known here: each kind of request with its parameters and headers, on objects below the location of one table. Paths are
decoded once; what a storage that decodes again could take for another place is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from lanceway.access.credentials.options import find_option
from lanceway.access.credentials.policy import bucket_and_prefix
from lanceway.access.credentials.vendor import StorageAccess
from lanceway.errors import InvalidInputError, PermissionDeniedError

UNSIGNED, TRAILER = "UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
CONTENT, COPY = "x-amz-content-sha256", "x-amz-copy-source"
_LONGEST = 8192  # characters of an address, and of a header
_MOST_HEADERS = 64
_PORTS = {"http": ":80", "https": ":443"}
_ADDRESS = re.compile(r"(https?)://([a-z0-9.-]+(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?)/?")
# As RFC 3986 has a path, and a query without what some take for a space or a second separator.
_URI = re.compile(
    r"(?P<scheme>https?)://(?P<host>[^/?#\s@\\]+)(?P<path>/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-F]{2})*)?"
    r"(?:\?(?P<query>(?:[\w\-.~=&/:,*]|%[0-9A-F]{2})*))?",
    re.ASCII | re.IGNORECASE,
)
_SOURCE = re.compile(r"/?(?P<path>(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-F]{2})+)", re.ASCII | re.IGNORECASE)
_NAME, _VALUE = re.compile(r"[A-Za-z0-9-]{1,100}"), re.compile(r"[\x20-\x7e]*")
_DECODINGS = 8


def _is(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_EMPTY, _NUMBER, _UPLOAD = _is(""), _is(r"\d{1,6}"), _is(r"(?!.*\.\.)[\w.~=+-]{1,1024}")
_ANY = _is(r"[\x20-\x7e]{0,2048}")
_LISTING: Mapping[str, Callable[[str], bool]] = {
    "list-type": _is("2"),
    "prefix": lambda text: True,  # compared with the table's own
    "delimiter": _is("/?"),
    "encoding-type": _is("url"),
    "max-keys": _NUMBER,
    "fetch-owner": _is("true|false"),
    "start-after": lambda text: True,  # compared too
    "continuation-token": _ANY,
}
# What goes along with any request: the name of the operation, which some clients add.
_NOTE: Mapping[str, Callable[[str], bool]] = {"x-id": _is("[A-Za-z]{1,40}")}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of request: its method, the parameters that it must have and those it may have, and what it needs."""

    method: str
    access: StorageAccess
    required: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)
    optional: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)

    def fits(self, method: str, query: Mapping[str, str]) -> bool:
        known = {**_NOTE, **self.optional, **self.required}
        return (
            method == self.method
            and self.required.keys() <= query.keys() <= known.keys()
            and all(known[name](value) for name, value in query.items())
        )


_PART = {"uploadId": _UPLOAD}
_OF_OBJECTS = (
    _Kind("GET", StorageAccess.READ),
    _Kind("HEAD", StorageAccess.READ),
    _Kind("PUT", StorageAccess.WRITE),
    _Kind("PUT", StorageAccess.WRITE, {**_PART, "partNumber": _NUMBER}),
    _Kind("POST", StorageAccess.WRITE, {"uploads": _EMPTY}),
    _Kind("POST", StorageAccess.WRITE, _PART),
    _Kind("GET", StorageAccess.WRITE, _PART, {"max-parts": _NUMBER, "part-number-marker": _NUMBER}),
    _Kind("DELETE", StorageAccess.WRITE, _PART),
    _Kind("DELETE", StorageAccess.OWN),
)
_LIST = _Kind("GET", StorageAccess.READ, {name: _LISTING[name] for name in ("list-type", "prefix")}, _LISTING)

_CHECKSUM = _is("[A-Za-z0-9+/=-]{1,200}")
# Headers that are signed, beside `host`, and what each may be. They are all that a request may have of `x-amz-…`.
_SIGNED: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(("content-type", "content-md5", "cache-control", "range"), _ANY),
    **dict.fromkeys(("if-match", "if-none-match", "if-modified-since", "if-unmodified-since"), _ANY),
    "content-encoding": _ANY,
    CONTENT: _is(f"{UNSIGNED}|{TRAILER}|[0-9a-f]{{64}}"),
    COPY: _ANY,
    "x-amz-copy-source-range": _is(r"bytes=\d+-\d+"),
    "x-amz-checksum-mode": _is("ENABLED"),
    "x-amz-te": _is("append-md5"),  # of Java's client: a checksum at the end of what it reads
    "x-amz-checksum-algorithm": _is("[A-Z0-9]{1,20}"),
    "x-amz-checksum-type": _is("[A-Z_]{1,20}"),
    "x-amz-sdk-checksum-algorithm": _is("[A-Z0-9]{1,20}"),
    **{f"x-amz-checksum-{name}": _CHECKSUM for name in ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")},
    "x-amz-trailer": _is("x-amz-checksum-[a-z0-9]{1,10}"),
    "x-amz-decoded-content-length": _is(r"\d{1,20}"),
}
_RESERVED = "x-amz-"
# The server says when a request is made, and by whom.
_REFUSED = frozenset({"authorization", "x-amz-date", "x-amz-security-token"})
_CHUNKED = "aws-chunked"


@dataclass(frozen=True, slots=True)
class UnsignedRequest:
    """A request to S3 as a client describes it, which has not been looked at yet."""

    method: str
    uri: str
    headers: Mapping[str, Sequence[str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class S3Action:
    """What a request would do, as it is to be signed: in one spelling, with no header that matters left out."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)  # that are signed, in small letters, without the host
    access: StorageAccess


@dataclass(frozen=True, slots=True)
class S3Address:
    """Where the buckets of a storage are reached, and how its region is called.

    With `virtual`, the host may begin with the name of the bucket. A storage that does not know such hosts would take
    the first part of a key for a bucket, so they are for AWS alone.
    """

    scheme: str
    hosts: tuple[str, ...]
    region: str
    virtual: bool = False

    @classmethod
    def of(cls, storage: Mapping[str, str]) -> S3Address | None:
        """Return the address that a server's options name; None if requests to it cannot be told from others."""
        endpoint = find_option(storage, "endpoint", "endpoint_url")
        region = find_option(storage, "region", "default_region")
        if endpoint is None:
            if region is None:
                return None
            hosts = (f"s3.{region}.amazonaws.com", "s3.amazonaws.com")
            return cls("https", hosts, region, virtual=True)
        match = _ADDRESS.fullmatch(endpoint.lower())
        if match is None or find_option(storage, "virtual_hosted_style_request") in ("true", "1"):
            return None
        scheme, host = match.groups()
        return cls(scheme, (host.removesuffix(_PORTS[scheme]),), region or "us-east-1")

    def key(self, scheme: str, host: str, path: str, bucket: str) -> str | None:
        """Return what a path names in a bucket, "" for the bucket itself; None for anything else."""
        host = host.lower().removesuffix(_PORTS[scheme])
        if scheme != self.scheme:
            return None
        if self.virtual and host in {f"{bucket}.{each}" for each in self.hosts}:
            return path.removeprefix("/")
        if host not in self.hosts or (path != f"/{bucket}" and not path.startswith(f"/{bucket}/")):
            return None
        return path.removeprefix(f"/{bucket}").removeprefix("/")


def read(request: UnsignedRequest, address: S3Address, location: str) -> S3Action:
    """Return what a request does to the files at a location.

    Raises PermissionDeniedError unless it is of a known kind and stays below the location.
    """
    bucket, prefix = bucket_and_prefix(location)
    if "%" in location:
        raise InvalidInputError(f"Requests to {location} cannot be signed: its name has characters that are escaped.")
    match = _URI.fullmatch(request.uri) if len(request.uri) <= _LONGEST else None
    if match is None:
        raise _refused("its address cannot be read, or is too long")
    path = _decoded(match["path"] or "/", "path")
    key = address.key(match["scheme"].lower(), match["host"], path, bucket)
    if key is None:
        raise _refused(f"it does not go to the bucket {bucket} at the address that this server knows")
    query = _parameters(match["query"] or "")
    if key:
        _require_inside(key, prefix, "its key")
        kind = next((kind for kind in _OF_OBJECTS if kind.fits(request.method, query)), None)
    else:
        kind = _LIST if _LIST.fits(request.method, query) else None
        if kind is not None:
            _require_listing(query, prefix)
    if kind is None:
        raise _refused(
            "requests of its kind are not signed: only to read, write, copy and delete single objects, in parts too, "
            "and to list what is below the table"
        )
    headers = _checked_headers(request, match["host"], match["scheme"].lower())
    _check_copy(headers, request.method, bucket, prefix)
    url = f"{match['scheme'].lower()}://{match['host'].lower()}{quote(path, safe='/~')}"
    canonical = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(query.items()))
    return S3Action(request.method, f"{url}?{canonical}" if canonical else url, headers, kind.access)


def _decoded(text: str, what: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise _refused(f"its {what} is not UTF-8") from error


def _parameters(query: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        name = _decoded(name, "query")
        if name in values:
            raise _refused(f"its parameter {name!r} is there twice")
        values[name] = _decoded(value, "query")
    return values


# -- places --------------------------------------------------------------------------------------


def _require_inside(key: str, prefix: str, what: str) -> None:
    if not key.startswith(f"{prefix}/") or not _is_plain(key):
        raise _refused(f"{what} is not below the location of this table, or not in a plain spelling")


def _is_plain(key: str) -> bool:
    """Return whether a key is what it seems to be, also for a storage that decodes it again."""
    if not key.isprintable() or "\\" in key or "" in key.split("/"):
        return False
    for _ in range(_DECODINGS):
        if not {".", ".."}.isdisjoint(key.replace("\\", "/").split("/")) or not key.isprintable():
            return False
        again = unquote(key)
        if again == key:
            return True
        key = again
    return False


def _require_listing(query: Mapping[str, str], prefix: str) -> None:
    if query["prefix"] != f"{prefix}/":
        _require_inside(query["prefix"].removesuffix("/"), prefix, "the prefix of its list")
    if query.get("start-after"):
        _require_inside(query["start-after"], prefix, "where its list begins")


# -- headers -------------------------------------------------------------------------------------


def _checked_headers(request: UnsignedRequest, host: str, scheme: str) -> dict[str, str]:
    """Return the headers to sign. Others have no meaning to S3, and may be sent or not."""
    if len(request.headers) > _MOST_HEADERS:
        raise _refused(f"it has more than {_MOST_HEADERS} headers")
    signed: dict[str, str] = {}
    seen: set[str] = set()
    for spelling, values in request.headers.items():
        name = spelling.lower()
        if _NAME.fullmatch(name) is None or name in seen or name in _REFUSED:
            raise _refused(f"its header {name[:100]!r} is there twice, or is one that the server sets itself")
        seen.add(name)
        if name not in _SIGNED and name != "host" and not name.startswith(_RESERVED):
            continue
        value = values[0] if len(values) == 1 else None
        if value is None or len(value) > _LONGEST or _VALUE.fullmatch(value) is None:
            raise _refused(f"its header {name} has not one value of printable characters")
        if name == "host":
            if value.lower().removesuffix(_PORTS[scheme]) != host.lower().removesuffix(_PORTS[scheme]):
                raise _refused("its header host is not the host of its address")
        elif name not in _SIGNED or not _SIGNED[name](value):
            raise _refused(f"its header {name} is not one that is signed, or not with this value")
        else:
            signed[name] = value
    return _with_content(signed, request.method)


def _with_content(signed: dict[str, str], method: str) -> dict[str, str]:
    """Return headers with how the content is signed: not at all, in chunks with a checksum or without."""
    chunked = _CHUNKED in signed.get("content-encoding", "").lower()
    trailed = "x-amz-trailer" in signed
    content = signed.setdefault(CONTENT, TRAILER if trailed else UNSIGNED)
    if (content == TRAILER, chunked, trailed) != (trailed,) * 3 or (trailed and method != "PUT"):
        raise _refused(f"content in chunks is sent by PUT alone, with a trailer, as {TRAILER}")
    return signed


def _check_copy(headers: Mapping[str, str], method: str, bucket: str, prefix: str) -> None:
    """Refuse to copy from outside the table. The source is signed, so that it cannot be changed."""
    source = headers.get(COPY)
    if source is None:
        return
    match = _SOURCE.fullmatch(source)
    place, _, key = ("", "", "") if match is None else _decoded(match["path"], "copy source").partition("/")
    if method != "PUT" or place != bucket:
        raise _refused("it copies from another bucket, or from what cannot be read as a bucket and a key")
    _require_inside(key, prefix, "what it copies")


def _refused(why: str) -> PermissionDeniedError:
    return PermissionDeniedError(f"This request to the storage is not signed: {why}.")
