"""An issuer's signing keys: fetched from its JWKS address, cached, and fetched again for a key that is new."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from lanceway.config import read_settings
from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnauthenticatedError
from lanceway.wire.errors import TransportError
from lanceway.wire.settings import SETTINGS, read_address
from lanceway.wire.transport import Transport

FRESH = 300.0  # seconds for which keys are used without another look
KEPT = 3600.0  # seconds for which they are used while the issuer does not answer
PAUSE = 10.0  # seconds at least between two looks, whatever keys are asked for
PATIENCE = 5.0  # seconds for one look
_LARGEST = 1_000_000  # bytes
# A key of any other kind is shared with the issuer, so that who can check could also sign.
_KINDS = frozenset({"RSA", "EC", "OKP"})

_LOG = logging.getLogger(__name__)

Key = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of one answer, and when it came."""

    keys: tuple[Key, ...]
    at: float

    def find(self, name: str | None) -> Key | None:
        """Return the key of a name. A token that names none means the only one."""
        if name is None:
            return self.keys[0] if len(self.keys) == 1 else None
        return next((key for key in self.keys if key.get("kid") == name), None)


class SigningKeys:
    """An issuer's keys, for any number of threads; one at a time fetches."""

    def __init__(self, uri: str, *, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._uri, self._patience, self._clock = uri, patience, clock
        self._keys = _Keys((), float("-inf"))
        self._looked = float("-inf")
        self._failed = False
        self._lock = threading.Lock()

    def find(self, name: str | None) -> Key:
        """Return the key that a token names.

        Raises UnauthenticatedError if the issuer has none, ServiceUnavailableError if it cannot be asked.
        """
        before = self._keys
        key = before.find(name)
        if key is not None and self._clock() - before.at < FRESH:
            return key
        self._look_again(wait=key is None or self._is_old(before), before=before)
        now = self._keys
        key = now.find(name)
        if key is not None and not self._is_old(now):
            return key
        if self._failed:
            raise ServiceUnavailableError("The keys of the tokens' issuer cannot be had at present. Try again later.")
        raise UnauthenticatedError("The token is signed with a key that its issuer does not have. Get a new one.")

    def _is_old(self, keys: _Keys) -> bool:
        return self._clock() - keys.at >= KEPT

    def _look_again(self, *, wait: bool, before: _Keys) -> None:
        """Fetch the keys, unless another thread just did. A caller that has a usable key does not wait."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self._keys is before and self._clock() - self._looked >= PAUSE:
                self._look()
        finally:
            self._lock.release()

    def _look(self) -> None:
        try:
            self._keys = _Keys(_read(self._fetch()), self._clock())
            self._failed = False
        except (TransportError, InvalidInputError, ValueError) as error:
            self._failed = True
            _LOG.warning("The keys at %s cannot be had: %s", self._uri, str(error) or type(error).__name__)
        finally:
            self._looked = self._clock()

    def _fetch(self) -> bytes:
        deadline = time.monotonic() + self._patience
        patience = {"timeout": self._patience, "connect_timeout": self._patience}
        address, body = read_address(self._uri), bytearray()
        with (
            # Looks lie so far apart that no connection would still be there for the next.
            closing(Transport(read_settings("The issuer's keys", SETTINGS, patience))) as http,
            closing(http.open("GET", address, address.target, {"accept": "application/json"})) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise ValueError(f"the answer has status {response.status}")
            for part in response:
                body += part
                if len(body) > _LARGEST or time.monotonic() > deadline:
                    raise ValueError("the answer is too large or too slow")
        return bytes(body)


def _read(body: bytes) -> tuple[Key, ...]:
    """Return the keys that signatures can be checked with. Raises ValueError if there are none."""
    try:
        document = json.loads(body)
    except RecursionError as error:
        raise ValueError("the answer is nested too deeply") from error
    listed = document.get("keys") if isinstance(document, dict) else None
    keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    usable = tuple(key for key in keys if key.get("kty") in _KINDS and key.get("use", "sig") == "sig")
    if not usable:
        raise ValueError("the answer holds no keys for signatures")
    return usable
