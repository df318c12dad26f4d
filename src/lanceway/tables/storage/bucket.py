"""Objects in a bucket, on obstore, with the same storage options that pylance takes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from obstore import exceptions
from obstore.store import from_url

from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)
from lanceway.tables.storage.store import Object, Store, checked_key

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config

# Options of the HTTP client, which obstore takes apart from those of the store.
_CLIENT = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_content_type",
        "http1_only",
        "http2_keep_alive_interval",
        "http2_keep_alive_timeout",
        "http2_keep_alive_while_idle",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "randomize_addresses",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)
_DELETED_AT_ONCE = 1000
_PREFIXES = ("aws_", "azure_", "google_")
# pylance's own names and defaults for how long a request is tried again.
_RETRIES, _RETRY_SECONDS = ("client_max_retries", 3), ("client_retry_timeout", 180)


# The process that first used obstore. Its threads serve that one alone.
_user: int | None = None


def is_usable_here() -> bool:
    """Return whether obstore answers in this process, or would wait for threads that a fork left behind."""
    return _user in (None, os.getpid())


class BucketStore(Store):
    """A prefix in a bucket of S3, Google Cloud Storage or Azure."""

    def __init__(self, location: str, storage_options: Mapping[str, str]) -> None:
        parts = urlsplit(location)
        self._location = location.rstrip("/")
        self._prefix = unquote(parts.path).strip("/")
        bucket = f"{parts.scheme}://{parts.netloc}"
        global _user
        _user = _user or os.getpid()
        self._store = _client(bucket, tuple(sorted(storage_options.items())))

    def _path(self, key: str) -> str:
        return f"{self._prefix}/{checked_key(self._location, key)}".strip("/")

    def _key(self, path: str) -> str:
        return path[len(self._prefix) :].lstrip("/") if self._prefix else path

    def put_if_absent(self, key: str, data: bytes) -> bool:
        with self._translated("write", key):
            try:
                self._store.put(self._path(key), data, mode="create")
            except exceptions.AlreadyExistsError:
                return False
        return True

    def put(self, key: str, data: bytes) -> None:
        with self._translated("write", key):
            self._store.put(self._path(key), data)

    def read(self, key: str) -> bytes | None:
        with self._translated("read", key):
            try:
                return bytes(self._store.get(self._path(key)).bytes())
            except _ABSENT:
                return None

    def head(self, key: str) -> Object | None:
        with self._translated("look at", key):
            try:
                return self._object(self._store.head(self._path(key)))
            except _ABSENT:
                return None

    def names(self, prefix: str = "") -> list[str]:
        return self.level(prefix)[0]

    def level(self, prefix: str = "") -> tuple[list[str], list[str]]:
        with self._translated("list", prefix):
            listing = self._store.list_with_delimiter(self._path(prefix) or None)
        # Some stores keep an object named like the folder itself, which says nothing about what is in it.
        objects = (meta["path"] for meta in listing["objects"] if meta["path"] != self._path(prefix))
        return [_last(path) for path in listing["common_prefixes"]], [_last(path) for path in objects]

    def objects(self, prefix: str = "") -> Iterator[Object]:
        with self._translated("list", prefix):
            for page in self._store.list(self._path(prefix) or None):
                yield from map(self._object, page)

    def has_any(self, prefix: str = "") -> bool:
        with self._translated("list", prefix):
            return any(len(page) for page in self._store.list(self._path(prefix) or None, chunk_size=1))

    def delete(self, *keys: str) -> None:
        paths = [self._path(key) for key in keys]
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            with self._translated("delete", keys[start]), suppress(*_ABSENT):
                self._store.delete(paths[start : start + _DELETED_AT_ONCE])

    def copy_if_absent(self, source: str, target: str) -> bool:
        # Few stores copy on a condition, all of them write on one.
        data = self.read(source)
        if data is None:
            raise InvalidInputError(f"{self._location}/{source} cannot be copied: there is no such object.")
        return self.put_if_absent(target, data)

    def _object(self, meta: ObjectMeta) -> Object:
        modified = int(meta["last_modified"].timestamp() * 1000)
        return Object(self._key(meta["path"]), meta["size"], modified, meta["e_tag"])

    @contextmanager
    def _translated(self, verb: str, key: str) -> Iterator[None]:
        """Translate obstore's exceptions, at this one place."""
        try:
            yield
        except exceptions.BaseError as error:
            raise _translate(error, f"Could not {verb} {self._location}/{key}".rstrip("/")) from None
        except ValueError as error:
            raise InvalidInputError(f"{self._location}/{key} is not a valid path in a bucket: {error}.") from error


_ABSENT = (exceptions.NotFoundError, FileNotFoundError)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@lru_cache(maxsize=64)  # a client costs milliseconds to make
def _client(bucket: str, options: tuple[tuple[str, str], ...]) -> ObjectStore:
    config: dict[str, str] = {}
    client: dict[str, str] = {}
    for name, value in options:
        bare = _bare(name)
        if bare in _CLIENT:
            client[bare] = value
        elif _is_known(bucket, name.lower(), value):
            config[name.lower()] = value
    return _make(bucket, config, client, _retries(dict(options)))


def _bare(name: str) -> str:
    lower = name.lower()
    return next((lower.removeprefix(prefix) for prefix in _PREFIXES if lower.startswith(prefix)), lower)


def _is_known(bucket: str, name: str, value: str) -> bool:
    """Return whether the store has this option. pylance takes more of them and ignores the rest; so do we."""
    try:
        from_url(bucket, config=cast("S3Config", {name: value}))
    except exceptions.UnknownConfigurationKeyError:
        return False
    except (exceptions.BaseError, ValueError):
        return True  # a bad value, which is told where the store is made
    return True


def _make(bucket: str, config: dict[str, str], client: dict[str, str], retries: RetryConfig) -> ObjectStore:
    try:
        return from_url(
            bucket,
            config=cast("S3Config", config),
            # Any of them, even none, would take the place of those in the environment, such as AWS_ALLOW_HTTP.
            client_options=cast("ClientConfig", client) if client else None,
            retry_config=retries,
        )
    except (exceptions.BaseError, ValueError):
        # Its own message may repeat an option's value, so it is not passed on.
        raise InvalidInputError(
            f"{bucket} cannot be used: the location is not a URI of a known store (s3, gs, az), or one of the storage "
            f"options {sorted(config | client)} has a value that the store does not take or lacks its other half "
            "(an access key needs its secret)."
        ) from None


def _retries(options: Mapping[str, str]) -> RetryConfig:
    settings: dict[str, Any] = {
        "max_retries": _whole_number(options, *_RETRIES),
        "retry_timeout": timedelta(seconds=_whole_number(options, *_RETRY_SECONDS)),
    }
    return cast("RetryConfig", settings)


def _whole_number(options: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(options.get(name, default))
    except ValueError:
        raise InvalidInputError(f"The storage option {name!r} must be a whole number.") from None


_CODE = re.compile(r"(?:<Code>|\(code: )(\w+)(?:</Code>|\))")  # of an answer, and of one key of a deletion
_STATUS = re.compile(r"\bstatus (?:code )?(\d{3})\b")
_BAD_CREDENTIALS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidClientTokenId"}
)
_DENIED = frozenset({"AccessDenied", "403"})  # of a listing, for which obstore has no class of its own
_METADATA_SERVICE = "/latest/api/token"  # of a machine at Amazon, which is asked last, where nothing is configured
_THROTTLED = frozenset({"SlowDown", "TooManyRequests", "RequestLimitExceeded", "ServerBusy", "429"})


def _translate(error: exceptions.BaseError, what: str) -> LanceNamespaceError:
    """Return the contract's error: by class, for a generic error by the status that the store answered.

    The text of an error is not passed on: an answer of S3 may repeat the access key, and what
    obstore adds for developers may repeat anything.
    """
    text = str(error)
    code = (_CODE.findall(text) or _STATUS.findall(text) or [""])[0]
    said = f" ({code})" if code else ""
    if isinstance(error, exceptions.UnauthenticatedError) or code in _BAD_CREDENTIALS:
        return UnauthenticatedError(f"{what}: the storage does not accept the credentials{said}. Check them.")
    if isinstance(error, exceptions.PermissionDeniedError) or code in _DENIED:
        return PermissionDeniedError(f"{what}: the storage denies it to these credentials{said}.")
    if isinstance(error, exceptions.InvalidPathError):
        return InvalidInputError(f"{what}: this is not a valid path in a bucket.")
    if code in _THROTTLED:
        return ThrottlingError(f"{what}: the storage asks to slow down{said}. Try again later.")
    if isinstance(error, exceptions.NotFoundError):
        return InvalidInputError(f"{what}: there is no such bucket{said}. Create it or correct the location.")
    return _translate_generic(text, code, f"{what}{said}")


def _translate_generic(text: str, code: str, what: str) -> LanceNamespaceError:
    if _METADATA_SERVICE in text or "credential" in text.lower() or "error getting token" in text.lower():
        names = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" if _METADATA_SERVICE in text else "them"
        return UnauthenticatedError(
            f"{what}: no credentials were found. Set {names} in the environment, or the storage options."
        )
    if "error sending request" in text or "HTTP error" in text or code.startswith("50"):
        return ServiceUnavailableError(f"{what}: the storage cannot be reached or is out of order. Try again later.")
    return InternalError(f"{what}: {text.splitlines()[0][:300]}")
