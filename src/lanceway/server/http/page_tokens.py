"""Page tokens as clients get them: sealed, so that they can be neither read, nor made, nor used for another list.

What a catalog puts in a page token is a position: the last name of a page, or what a service behind it says. It may be
a name that the client may not see, and a client that could write one could begin a page anywhere. So the server
encrypts it with AES-SIV, for one operation on one object, under a key that only the lake's servers know.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from lanceway.catalogs.contract.requests import foreign_page_token

_LONGEST = 16_384  # characters


class PageTokenSeal:
    """Seals and opens page tokens. Every server with the same key opens what another has sealed."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def close(self, operation: str, names: Iterable[str], token: str) -> str:
        """Return a catalog's page token as a client gets it, for one operation on the object that `names` identify."""
        # Without a nonce: a position has one token, so no server has to remember which it gave out.
        sealed = self._cipher.encrypt(token.encode(), _list(operation, names))
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, operation: str, names: Iterable[str], token: str) -> str:
        """Return the catalog's page token in a client's.

        Raises InvalidInputError unless it was sealed with this key for the same operation on the same object.
        """
        if not token:
            return token  # the first page
        try:
            if len(token) > _LONGEST:
                raise ValueError("too long")
            # Strictly: with other characters skipped, one position would have many tokens.
            sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
            return self._cipher.decrypt(sealed, _list(operation, names)).decode()
        except (binascii.Error, ValueError, InvalidTag) as error:  # ValueError: no ASCII, or nothing sealed
            raise foreign_page_token(token) from error


def _list(operation: str, names: Iterable[str]) -> list[bytes]:
    """Return what a token is bound to; each part by itself, so that no two lists are the same."""
    return [operation.encode(), *(name.encode(errors="surrogatepass") for name in names)]
