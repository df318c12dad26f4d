"""Remote signing: requests to S3 that clients describe and the server signs, one by one, with its own keys.

For storages without STS: an Iceberg client sends the requests itself, and gets no key. `s3_requests` says what may be
signed. A signature holds for a quarter of an hour at most, for the one request that it was made for.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from lanceway.access.credentials import s3_requests
from lanceway.access.credentials.options import find_option
from lanceway.access.credentials.policy import SCHEMES, bucket_and_prefix
from lanceway.access.credentials.s3_requests import COPY, S3Action, S3Address, UnsignedRequest
from lanceway.errors import InvalidInputError, LanceNamespaceError, PermissionDeniedError, ServiceUnavailableError
from lanceway.tables.storage.store import open_store

_LOG = logging.getLogger(__name__)
_SERVICE = "s3"
_SECONDS = 10
_DONE, _REFUSALS = 200, (400, 403)
UNBOUND = (
    "This storage takes headers that are not part of a signature, so that a signature to write a file could be used to "
    "copy any other. Requests to write are not signed for it. Use a storage that refuses them, or set up STS: "
    "docs/guide/credentials.md."
)


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request as its client is to send it: the address, and all headers."""

    uri: str
    headers: Mapping[str, Sequence[str]] = field(repr=False)


class RequestSigner:
    """Signs requests to one storage. Safe to use from several threads. Keys are read when they are first needed."""

    def __init__(self, storage: Mapping[str, str], address: S3Address, root: str) -> None:
        self._storage, self._address, self._root = dict(storage), address, root
        self._lock = threading.Lock()
        self._keys: Any = None
        self._is_bound: bool | None = None

    @classmethod
    def of(cls, storage: Mapping[str, str], root: str) -> RequestSigner | None:
        """Return the signer for the tables below a root; None where nothing can be signed: it is not S3, say."""
        address = S3Address.of(storage)
        if address is None or not _is_bucket(root) or find_option(storage, "skip_signature") in ("true", "1"):
            return None
        return cls(storage, address, root)

    @property
    def address(self) -> S3Address:
        return self._address

    def serves(self, location: str) -> bool:
        """Return whether requests to a location can be signed."""
        return _is_bucket(location)

    def read(self, request: UnsignedRequest, location: str) -> S3Action:
        """Return what a request does to the files at a location. Raises PermissionDeniedError if it is none of them."""
        return s3_requests.read(request, self._address, location)

    def sign(self, action: S3Action, request: UnsignedRequest) -> SignedRequest:
        """Sign what a request does, and return the request with the headers that it needs then.

        Raises PermissionDeniedError for writing to a storage where a signature could be used for something else.
        """
        if action.method == "PUT" and not self.is_bound():
            raise PermissionDeniedError(UNBOUND)
        own = {name.lower() for name in request.headers}
        added = {name: [value] for name, value in self._signed(action).items() if name.lower() not in own}
        # Its own headers stay as they are: clients keep theirs, whatever the answer says.
        return SignedRequest(request.uri, {**request.headers, **added})

    def _signed(self, action: S3Action) -> dict[str, str]:
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest(method=action.method, url=action.url, headers=dict(action.headers))
        auth = S3SigV4Auth(self._frozen_keys(), _SERVICE, self._address.region)
        # It would hash the content, which only the client has.
        auth.payload = lambda request: action.headers[s3_requests.CONTENT]
        auth.add_auth(request)
        return dict(request.headers.items())

    def _frozen_keys(self) -> Any:
        with self._lock:
            if self._keys is None:
                self._keys = self._found_keys()
            keys = self._keys
        # Those of a machine's own role end, and are renewed here.
        return keys.get_frozen_credentials()

    def _found_keys(self) -> Any:
        try:
            from botocore.credentials import Credentials
            from botocore.session import get_session
        except ModuleNotFoundError as error:
            raise InvalidInputError(
                f"Signing requests needs the package {error.name!r}. Install it with: pip install 'lanceway[glue]'"
            ) from error
        key = find_option(self._storage, "access_key_id")
        secret = find_option(self._storage, "secret_access_key")
        if key and secret:
            return Credentials(key, secret, find_option(self._storage, "session_token", "token"))
        keys = get_session().get_credentials()
        if keys is None:
            raise ServiceUnavailableError("This server has no keys to its storage now, so it signs nothing.")
        return keys

    # -- what a signature is worth ---------------------------------------------------------------

    def is_bound(self) -> bool:
        """Return whether the storage refuses a signed request to which the source of a copy was added.

        Not all do: S3 itself and SeaweedFS refuse `x-amz-…` headers that are not signed. It is tried once, in a new
        folder below the root. Raises ServiceUnavailableError if the storage cannot be asked.
        """
        with self._lock:
            known = self._is_bound
        if known is None:
            known = self._tried()
            with self._lock:
                self._is_bound = known
            if not known:
                _LOG.warning("%s", UNBOUND)
        return known

    def _tried(self) -> bool:
        scratch = f"{self._root.rstrip('/')}/lanceway-check-{uuid.uuid4().hex}"
        store = open_store(scratch, self._storage)
        bucket, prefix = bucket_and_prefix(scratch)
        store.put("source", b"lanceway")
        try:
            host = self._address.hosts[0]
            path = quote(f"/{bucket}/{prefix}/target", safe="/~")
            request = UnsignedRequest("PUT", f"{self._address.scheme}://{host}{path}", {})
            headers = self._signed(self.read(request, scratch))
            statuses = [_send(request, {**headers, **added}) for added in ({}, {COPY: f"/{bucket}/{prefix}/source"})]
        finally:
            with suppress(LanceNamespaceError):
                store.delete(*list(store.keys()))
        if statuses[0] != _DONE or statuses[1] not in (_DONE, *_REFUSALS):
            raise ServiceUnavailableError("The storage cannot say now what its signatures are worth. Try again later.")
        return statuses[1] != _DONE

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r})"


def _send(request: UnsignedRequest, headers: Mapping[str, str]) -> int:
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import HTTPClientError
    from botocore.httpsession import URLLib3Session

    prepared = AWSRequest(method=request.method, url=request.uri, headers=dict(headers), data=b"").prepare()
    session = URLLib3Session(timeout=_SECONDS)
    try:
        return int(session.send(prepared).status_code)
    except HTTPClientError as error:
        raise ServiceUnavailableError("The storage cannot be reached now. Try again later.") from error
    finally:
        session.close()


def _is_bucket(location: str) -> bool:
    scheme, mark, _ = location.partition("://")
    return bool(mark) and scheme.lower() in SCHEMES
