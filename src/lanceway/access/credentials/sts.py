"""Credentials by AssumeRole of STS: those of a role, narrowed down to one table by a session policy."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lanceway.access.credentials.options import find_option, safe_options
from lanceway.access.credentials.policy import SCHEMES, session_policy
from lanceway.access.credentials.vendor import Credential, SessionLabel, TableScope
from lanceway.config import CredentialSettings
from lanceway.errors import InvalidInputError, ServiceUnavailableError

# What AWS takes in the name of a session and in the value of a tag.
_NAME, _TAG = re.compile(r"[^\w+=,.@-]", re.ASCII), re.compile(r"[^\w .:/=+@-]", re.ASCII)
_LONGEST_NAME, _LONGEST_TAG = 64, 256
_SHARES = (24, 23, 15)  # of the name: user, table and request, with what joins them
_TAGS = ("lanceway:user", "lanceway:table", "lanceway:request")
_CONNECT_SECONDS, _READ_SECONDS, _ATTEMPTS = 5, 10, 2
_CONNECTIONS = 16
# After a failure STS is not asked again for so many seconds: many requests may wait for it at once.
_PAUSE = 2.0


class StsVendor:
    """Makes credentials for the tables of one storage that speaks S3. The client is made when it is first needed."""

    def __init__(self, settings: CredentialSettings, storage: Mapping[str, str]) -> None:
        self._settings, self._storage = settings, dict(storage)
        self._lock = threading.Lock()
        self._client: Any = None
        self._failure: tuple[float, str] | None = None

    @property
    def life(self) -> int:
        return self._settings.life

    @property
    def storage(self) -> Mapping[str, str]:
        return self._storage

    def serves(self, location: str) -> bool:
        return urlsplit(location).scheme.lower() in SCHEMES

    def issue(self, scope: TableScope, label: SessionLabel) -> Credential:
        policy = session_policy(scope)
        if self._failure is not None and time.monotonic() < self._failure[0]:
            raise ServiceUnavailableError(self._failure[1])
        issued_at = time.time()
        made = self._assume_role(policy, label)
        ends_at = made["Expiration"].timestamp()
        # STS makes no key for less than a quarter of an hour: a client is told the shorter end.
        expires_at = min(ends_at, issued_at + self._settings.duration)
        if expires_at <= issued_at:
            raise ServiceUnavailableError(
                "STS gave a credential that has ended already: the clock of this machine or of STS is wrong."
            )
        options = {
            **(safe_options(self._storage) or {}),
            "aws_access_key_id": made["AccessKeyId"],
            "aws_secret_access_key": made["SecretAccessKey"],
            "aws_session_token": made["SessionToken"],
        }
        return Credential(options, issued_at, expires_at, ends_at)

    def _assume_role(self, policy: str, label: SessionLabel) -> Mapping[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        settings = self._settings
        arguments: dict[str, Any] = {
            "RoleArn": settings.role_arn,
            "RoleSessionName": session_name(label),
            "DurationSeconds": settings.life,
            "Policy": policy,
        }
        if settings.external_id:
            arguments["ExternalId"] = settings.external_id
        if settings.session_tags:
            arguments["Tags"] = session_tags(label)
        try:
            answer: Mapping[str, Any] = self._sts().assume_role(**arguments)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "an error")
            raise self._failed(
                f"STS refuses the role that credentials are made of ({code}). Its trust policy must name the server's "
                "user, and the policy of the role must allow what tables need."
            ) from error
        except BotoCoreError as error:
            raise self._failed(f"STS cannot be asked: {type(error).__name__}. Try again later.") from error
        self._failure = None
        made: Mapping[str, Any] = answer["Credentials"]
        return made

    def _failed(self, reason: str) -> ServiceUnavailableError:
        self._failure = time.monotonic() + _PAUSE, reason
        return ServiceUnavailableError(reason)

    def _sts(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> Any:
        try:
            import boto3
            from botocore.config import Config
        except ModuleNotFoundError as error:
            raise InvalidInputError(
                f"Credentials of STS need the package {error.name!r}. Install it with: pip install 'lanceway[glue]'"
            ) from error
        storage, settings = self._storage, self._settings
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            max_pool_connections=_CONNECTIONS,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        )
        return boto3.session.Session().client(
            "sts",
            region_name=settings.region or find_option(storage, "region", "default_region"),
            endpoint_url=settings.sts_endpoint or find_option(storage, "endpoint", "endpoint_url"),
            # Without keys in the settings, those of the machine's own role.
            aws_access_key_id=find_option(storage, "access_key_id"),
            aws_secret_access_key=find_option(storage, "secret_access_key"),
            aws_session_token=find_option(storage, "session_token", "token"),
            config=config,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self._settings, "storage": self._storage}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def session_name(label: SessionLabel) -> str:
    """Return the name of a session, which logs of the storage show: user, table and request, as far as they fit."""
    # Of a table the last names tell most.
    parts = (label.user[: _SHARES[0]], label.table[-_SHARES[1] :], label.request_id[: _SHARES[2]])
    return "+".join(_NAME.sub("_", part) or "-" for part in parts)[:_LONGEST_NAME]


def session_tags(label: SessionLabel) -> list[dict[str, str]]:
    """Return user, table and request as the tags of a session."""
    values = (label.user, label.table, label.request_id)
    return [
        {"Key": key, "Value": _TAG.sub("_", value)[:_LONGEST_TAG]}
        for key, value in zip(_TAGS, values, strict=True)
        if value
    ]
