"""Glue's API: the one place where it is called, and where its pages are followed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from lanceway.catalogs.glue import errors
from lanceway.catalogs.glue.errors import Kind
from lanceway.errors import (
    InternalError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)

Answer = Mapping[str, Any]

# A request is sent at most so often, with growing pauses, if it is throttled or gets no answer.
ATTEMPTS = 5
_CONNECT_SECONDS, _READ_SECONDS = 5, 30
_CONNECTIONS = 32
# How many rows Glue gives at once, at most.
_PAGES = {"GetCatalogs": ("CatalogList", 1000), "GetDatabases": ("DatabaseList", 100), "GetTables": ("TableList", 100)}
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


class GlueClient:
    """Calls Glue as the settings say. Safe for threads, and after a fork: each process has a connection of its own."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._clients: dict[int, Any] = {}

    def close(self) -> None:
        """Give the connections of this process back. The next call opens new ones."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    # -- calling ---------------------------------------------------------------------------------

    def call(
        self,
        operation: str,
        about: str,
        *,
        missing: Kind = NamespaceNotFoundError,
        taken: Kind = NamespaceAlreadyExistsError,
        **parameters: Any,
    ) -> Answer:
        """Carry out one operation of Glue. What is not there raises `missing`, what is there already `taken`."""
        with _translated(about, missing, taken):
            answer: Answer = getattr(self._client(), _WORDS.sub("_", operation).lower())(**parameters)
        return answer

    def rows(self, operation: str, about: str, *, missing: Kind = NamespaceNotFoundError, **parameters: Any) -> Any:
        """Every row of a list, page after page. A page may be empty and not be the last: rows are filtered after it."""
        field, size = _PAGES[operation]
        token: str | None = None
        while True:
            more: dict[str, Any] = {"NextToken": token} if token else {}
            answer = self.call(operation, about, missing=missing, MaxResults=size, **more, **parameters)
            yield from answer.get(field) or ()
            before, token = token, answer.get("NextToken")
            if not token:
                return
            if token == before:
                raise InternalError(f"{about}: AWS answers {operation} with the same page over and over.")

    def writable(self, row: Answer) -> dict[str, Any]:
        """Of a table as Glue gives it, what Glue takes: the rest is its own to set."""
        taken = self._client().meta.service_model.shape_for("TableInput").members
        return {key: value for key, value in row.items() if key in taken}

    # -- connecting ------------------------------------------------------------------------------

    def _client(self) -> Any:
        """The client of this process. Several threads may make one at first; one of them is kept."""
        process = os.getpid()
        found = self._clients.get(process)
        if found is None:
            made = self._made("glue")
            found = self._clients.setdefault(process, made)
            if found is not made:
                made.close()
        return found

    def _made(self, service: str) -> Any:
        import boto3

        endpoint = self._settings["endpoint"] if service == "glue" else None
        return boto3.session.Session(botocore_session=self._session()).client(
            service, endpoint_url=endpoint, config=_config()
        )

    def _session(self) -> Any:
        from lanceway.catalogs.glue.credentials import session_for

        return session_for(self._settings, _config())

    # -- who asks --------------------------------------------------------------------------------

    def account(self) -> str:
        """The caller's account, asked of STS."""
        with _translated("Finding out the AWS account"), closing(self._made("sts")) as sts:
            return str(sts.get_caller_identity()["Account"])

    def identity(self) -> Iterator[str]:
        """What the environment alone says of who asks: the profile, and the key where it is a fixed one."""
        _require_library()
        from botocore.exceptions import BotoCoreError

        from lanceway.catalogs.glue.credentials import fixed_key

        session = self._session()
        try:
            found = (session.profile, session.get_config_variable("region"), fixed_key(session))
        except BotoCoreError:  # nobody yet; the first call will say so
            return
        yield from (text or "" for text in found)


@contextmanager
def _translated(
    about: str, missing: Kind = NamespaceNotFoundError, taken: Kind = NamespaceAlreadyExistsError
) -> Iterator[None]:
    """Around a call to AWS: what it raises becomes the contract's error for what happened."""
    _require_library()
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        meaning = errors.answered(error, about, missing, taken)
        # The original quotes what was signed, a session's token included.
        raise meaning from (None if isinstance(meaning, UnauthenticatedError) else error)
    except BotoCoreError as error:
        raise errors.unanswered(error, about) from error
    except ResponseParserError as error:
        raise InternalError(f"{about}: what AWS answers cannot be read.") from error


def _config() -> Any:
    from botocore.config import Config

    return Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    )


def _require_library() -> None:
    try:
        import boto3  # noqa: F401
    except ModuleNotFoundError as error:
        raise UnsupportedOperationError(
            "A Glue catalog needs boto3, which is missing. Install it with: pip install 'lanceway[glue]'"
        ) from error
