"""Python functions as clients name them: by their import path, in a small JSON envelope.

The contract has pickles in this place. To load a pickle is to run whatever its sender wants, so none ever is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re

from lanceway.errors import InvalidInputError, UnsupportedOperationError

BACKEND = "lanceway.import.v1"
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_FUNCTION = "function"
_HOW = (
    f'Send base64 of {{"{_FUNCTION}": "package.module:name"}} with the backend {BACKEND!r}; the function must be '
    "installed where the worker runs, and allowed there."
)


def write(function: str) -> str:
    """The envelope of a function, as requests carry it."""
    return base64.b64encode(json.dumps({_FUNCTION: function}).encode()).decode()


def read(what: str, envelope: str, backend: str | None = None) -> str:
    """The import path in an envelope. `what` begins the sentence of a refusal.

    Raises UnsupportedOperationError for anything but an envelope, and InvalidInputError for one that is not right.
    """
    if backend not in (None, "", BACKEND):
        raise UnsupportedOperationError(f"{what}: the backend {backend!r} is not known here. {_HOW}")
    try:
        found = json.loads(base64.b64decode(envelope, validate=True))
    except (binascii.Error, ValueError):
        raise UnsupportedOperationError(
            f"{what}: it is no JSON envelope. A pickled function is not loaded, since that runs whatever its sender "
            f"wants. {_HOW}"
        ) from None
    if not isinstance(found, dict) or set(found) != {_FUNCTION} or not isinstance(found[_FUNCTION], str):
        raise InvalidInputError(f"{what}: the envelope must hold one text, {_FUNCTION!r}. {_HOW}")
    if not _PATH.fullmatch(found[_FUNCTION]):
        raise InvalidInputError(f"{what}: {found[_FUNCTION]!r} is no import path. Write package.module:name.")
    return str(found[_FUNCTION])


def check_sha(what: str, envelope: str, sha: str) -> None:
    """Raises InvalidInputError where the checksum is neither the envelope's nor that of what it holds."""
    known = {hashlib.sha256(part).hexdigest() for part in (envelope.encode(), base64.b64decode(envelope))}
    if sha.strip().lower() not in known:
        raise InvalidInputError(f"{what}: the checksum is not the SHA-256 of the envelope. Send it whole again.")
