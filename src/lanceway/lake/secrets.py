"""Secrets in the database: encrypted with a key that is not in it.

A key has 256 bits, written as 64 hexadecimal digits. Keys are configured (`secret_key` in `[server]`, or the variable
LANCEWAY_SECRET_KEY), or are in the file `secret-key` of the home, which is made with the first secret. The first key
encrypts; those after it only decrypt, until `lanceway lake rotate-key` has replaced them.

AES-GCM ties what it encrypts to its context: to one row, and to the settings that say where the secrets are sent. Who
can write to the database but has no key can neither move a secret to another row nor have it sent elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.lake.store.engines import replacing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FILE = "secret-key"
VARIABLE = "LANCEWAY_SECRET_KEY"

_KEY_BYTES, _NONCE_BYTES = 32, 12
_KEY = re.compile(rf"[0-9a-fA-F]{{{2 * _KEY_BYTES}}}", re.ASCII)
_ID_DIGITS = 16


class SealedSecrets(NamedTuple):
    """Secrets as they are stored, and the id of the key that they are encrypted with."""

    text: str
    key_id: str


class SecretsUnavailableError(ServiceUnavailableError):
    """Secrets cannot be decrypted here: their key is missing, or they were changed."""


@dataclass(frozen=True, slots=True)
class _Key:
    value: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """Return what a key is known by: no secret, and nothing to find the key by."""
        return hashlib.sha256(b"lanceway secret key\0" + self.value).hexdigest()[:_ID_DIGITS]


class SecretKeys:
    """The keys of one server. Those in a file are read again when one is missing: another process may rotate them."""

    def __init__(self, configured: str | None = None, file: Path | None = None) -> None:
        self._configured = tuple(
            _read_key(text, "secret_key") for text in (configured or "").split(",") if text.strip()
        )
        self._file = file
        self._keys = self._configured

    @property
    def is_configured(self) -> bool:
        return bool(self._configured)

    def seal(self, values: Mapping[str, str], context: object) -> SealedSecrets:
        """Encrypt secrets for one context, with the first key. Raises InvalidInputError if there can be no key."""
        key, nonce = self._first(), secrets.token_bytes(_NONCE_BYTES)
        plain = json.dumps(dict(values), sort_keys=True).encode()
        sealed = nonce + _cipher(key).encrypt(nonce, plain, _bound(context))
        return SealedSecrets(base64.b64encode(sealed).decode(), key.id)

    def open(self, sealed: SealedSecrets, context: object) -> dict[str, str]:
        """Return secrets that were sealed for the same context. Raises SecretsUnavailableError."""
        from cryptography.exceptions import InvalidTag

        raw = base64.b64decode(sealed.text)
        try:
            plain = _cipher(self._known(sealed.key_id)).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bound(context))
        except InvalidTag as error:
            raise SecretsUnavailableError(
                "its secrets do not belong to its settings: the database was changed by other means than Lanceway. "
                "Set the secrets again."
            ) from error
        values: dict[str, str] = json.loads(plain)
        return values

    def begin_rotation(self) -> None:
        """Put a new key before those of the file. Configured keys are left alone: the first of them is the new one.

        Call this and `end_rotation` in transactions of the database, which keep others from it meanwhile.
        """
        if not self._configured:
            file = self._require_file()
            _write(file, (_Key(secrets.token_bytes(_KEY_BYTES)), *_in_file(file)))

    def end_rotation(self, in_use: Collection[str]) -> None:
        """Leave the first key in the file, and those with which something is still encrypted, by their ids."""
        if not self._configured:
            file = self._require_file()
            first, *others = _in_file(file)
            _write(file, (first, *(key for key in others if key.id in in_use)))

    def _first(self) -> _Key:
        if not self._configured:
            file = self._require_file()
            self._keys = _in_file(file)
            if not self._keys:
                _make(file)
                self._keys = _in_file(file)
        return self._keys[0]

    def _known(self, id_: str) -> _Key:
        for attempt in range(2):
            for key in self._keys:
                if key.id == id_:
                    return key
            if attempt == 0 and not self._configured and self._file is not None:
                self._keys = _in_file(self._file)
        where = "secret_key of [server]" if self._configured or self._file is None else str(self._file)
        raise SecretsUnavailableError(
            f"its secrets are encrypted with the key {id_}, which this server does not have. Put that key into "
            f"{where}, or set the secrets again."
        )

    def _require_file(self) -> Path:
        if self._file is None:
            raise InvalidInputError(
                "Secrets of catalogs are encrypted, and there is no key for it: servers that share a PostgreSQL "
                f"database share the key too. Set secret_key in [server] or {VARIABLE} to 64 hexadecimal digits, such "
                "as `openssl rand -hex 32` prints."
            )
        return self._file


def _cipher(key: _Key) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key.value)


def _bound(context: object) -> bytes:
    return b"lanceway secrets 1\0" + json.dumps(context, sort_keys=True).encode()


def _read_key(text: str, where: str) -> _Key:
    if not _KEY.fullmatch(text.strip()):
        raise InvalidInputError(
            f"A key in {where} is not 64 hexadecimal digits. Make one with `openssl rand -hex 32`; several are "
            "separated by commas, the one that encrypts first."
        )
    return _Key(bytes.fromhex(text.strip()))


def _in_file(file: Path) -> tuple[_Key, ...]:
    try:
        text = file.read_text()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SecretsUnavailableError(f"the file {file} cannot be read: {error.strerror}.") from error
    return tuple(_read_key(line, str(file)) for line in text.split())


def _make(file: Path) -> None:
    """Make the first key, unless another process has been faster."""
    part = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(f"{secrets.token_hex(_KEY_BYTES)}\n")
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            os.link(part, file)
    except OSError as error:
        raise InvalidInputError(f"The key for secrets cannot be written to {file}: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _write(file: Path, keys: Sequence[_Key]) -> None:
    with replacing(file) as part, part.open("w") as out:
        out.write("".join(f"{key.value.hex()}\n" for key in keys))
        out.flush()
        os.fsync(out.fileno())
