"""Calls to AWS Glue, with credentials that are renewed in time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import Any

from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    DeferredRefreshableCredentials,
    RefreshableCredentials,
)
from botocore.exceptions import CredentialRetrievalError, NoCredentialsError
from botocore.loaders import Loader, create_loader
from botocore.session import Session
from botocore.utils import parse_timestamp

from lanceway.catalogs.glue import errors, names
from lanceway.catalogs.glue.errors import ErrorType
from lanceway.catalogs.glue.settings import GlueSettings
from lanceway.errors import (
    InternalError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier

# Sessions that last less than this, in seconds, are renewed when half of them is over rather than by the clock.
_SHORT = 1800.0


def session_for(settings: GlueSettings, config: Config) -> Session:
    """Return a new session of the AWS library with the identity that the settings name. No request is sent yet."""
    base = _session(settings.region)
    if settings.access_key_id:
        base.set_credentials(settings.access_key_id, settings.secret_access_key, settings.session_token)
    if not settings.assume_role_arn:
        return base
    assumed = _session(settings.region)
    provider = _RoleProvider(base, settings, config)
    assumed.register_component("credential_provider", CredentialResolver([provider]))
    return assumed


def _session(region: str | None) -> Session:
    session = Session()
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    if region:
        session.set_config_variable("region", region)
    return session


@cache
def _loader(path: str | None) -> Loader:
    """Return the loader that all sessions of the process share: Glue's model is large, and read once."""
    return create_loader(path)


def fixed_key(session: Session) -> str | None:
    """Return the id of the access key, None where keys are renewed."""
    credentials = session.get_credentials()
    if credentials is None or isinstance(credentials, RefreshableCredentials):
        return None
    return str(credentials.access_key)


class _RoleProvider(CredentialProvider):  # type: ignore[misc]
    METHOD = "assume-role"

    def __init__(self, base: Session, settings: GlueSettings, config: Config) -> None:
        super().__init__()
        self._base = base
        self._settings = settings
        self._config = config

    def load(self) -> RoleCredentials:
        source = self._base.get_credentials()
        if source is None:
            raise NoCredentialsError
        settings = self._settings
        arguments = {
            "RoleSessionName": settings.assume_role_session_name,
            "DurationSeconds": settings.assume_role_timeout_sec,
            "ExternalId": settings.assume_role_external_id,
        }
        fetcher = AssumeRoleCredentialFetcher(
            partial(
                self._base.create_client,
                region_name=settings.assume_role_region or settings.region,
                config=self._config,
            ),
            source,
            settings.assume_role_arn,
            extra_args={name: value for name, value in arguments.items() if value},
        )
        return RoleCredentials(fetcher.fetch_credentials)


class RoleCredentials(DeferredRefreshableCredentials):  # type: ignore[misc]
    """The credentials of a role's session, renewed from half of its life on if it is short.

    The AWS library renews a session in its last fifteen minutes, which may be all it has: a short one would be renewed
    for every request.
    """

    def __init__(self, fetch: Callable[[], Mapping[str, Any]]) -> None:
        self._lasts = _SHORT
        self._fetch = fetch
        super().__init__(self._fetched, _RoleProvider.METHOD)

    def _fetched(self) -> Mapping[str, Any]:
        fetched = self._fetch()
        seconds_left = (parse_timestamp(fetched["expiry_time"]) - self._time_fetcher()).total_seconds()
        if seconds_left <= 0:
            wrong = "the session that STS gave has ended already; the clock of this machine is wrong"
            raise CredentialRetrievalError(provider=self.method, error_msg=wrong)
        self._lasts = min(seconds_left, _SHORT)
        return fetched

    def refresh_needed(self, refresh_in: float | None = None) -> bool:
        early = self._advisory_refresh_timeout if refresh_in is None else refresh_in
        return bool(super().refresh_needed(early * self._lasts / _SHORT))


GlueRow = Mapping[str, Any]

# A request is sent at most so often, with growing pauses, if it is throttled or gets no answer.
ATTEMPTS = 5
_CONNECT_SECONDS, _READ_SECONDS = 5, 30
_CONNECTIONS = 32
# How many rows Glue gives at once, at most.
_PAGES = {"GetCatalogs": ("CatalogList", 1000), "GetDatabases": ("DatabaseList", 100), "GetTables": ("TableList", 100)}
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


class GlueClient:
    """A client of Glue with the identity of the settings.

    Safe for threads, and after a fork: each process has a connection of its own.
    """

    def __init__(self, settings: GlueSettings) -> None:
        self._settings = settings
        self._clients: dict[int, Any] = {}
        # Asked for once. No lock: threads that ask at the same time get the same answer.
        self._caller_account: str | None = None
        self._environment: str | None = None

    def close(self) -> None:
        """Close the connections of this process. The next call opens new ones."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    # -- calling ---------------------------------------------------------------------------------

    def call(
        self,
        operation: str,
        about: str,
        *,
        missing: ErrorType = NamespaceNotFoundError,
        taken: ErrorType = NamespaceAlreadyExistsError,
        **parameters: Any,
    ) -> GlueRow:
        """Run one operation of Glue. Raises `missing` for what is not there, `taken` for what is there already."""
        with _translated(about, missing, taken):
            response: GlueRow = getattr(self._client(), _WORDS.sub("_", operation).lower())(**parameters)
        return response

    def rows(
        self, operation: str, about: str, *, missing: ErrorType = NamespaceNotFoundError, **parameters: Any
    ) -> Iterator[GlueRow]:
        """Yield every row of a list. A page may be empty and not be the last: Glue filters rows after it is cut.

        A later page that is refused raises another error than the first, which may mean that there is no such list.
        """
        field, size = _PAGES[operation]
        token: str | None = None
        while True:
            more: dict[str, Any] = {"NextToken": token} if token else {}
            try:
                response = self.call(operation, about, missing=missing, MaxResults=size, **more, **parameters)
            except LanceNamespaceError as error:
                if token is None:
                    raise
                raise errors.on_later_page(error) from error.__cause__
            yield from response.get(field) or ()
            before, token = token, response.get("NextToken")
            if not token:
                return
            if token == before:
                raise InternalError(f"{about}: AWS answers {operation} with the same page over and over.")

    def writable(self, row: GlueRow) -> dict[str, Any]:
        """Return what Glue takes of a table as Glue gives it: it sets the other fields itself."""
        fields = self._client().meta.service_model.shape_for("TableInput").members
        return {key: value for key, value in row.items() if key in fields}

    # -- connecting ------------------------------------------------------------------------------

    def _client(self) -> Any:
        """Return the client of this process. Several threads may make one at first; one of them is used."""
        process = os.getpid()
        client = self._clients.get(process)
        if client is None:
            new = self._connect("glue")
            client = self._clients.setdefault(process, new)
            if client is not new:
                new.close()
        return client

    def _connect(self, service: str) -> Any:
        import boto3

        endpoint = self._settings.endpoint if service == "glue" else None
        return boto3.session.Session(botocore_session=self._session()).client(
            service, endpoint_url=endpoint, config=_config()
        )

    def _session(self) -> Any:
        return session_for(self._settings, _config())

    # -- who asks --------------------------------------------------------------------------------

    @property
    def caller(self) -> str:
        """Return the account of the caller, as STS knows it."""
        if self._caller_account is None:
            with _translated("Finding out the AWS account"), closing(self._connect("sts")) as sts:
                self._caller_account = str(sts.get_caller_identity()["Account"])
        return self._caller_account

    @property
    def environment(self) -> str:
        """Return what the settings leave to the environment: region, and who asks."""
        if self._settings.access_key_id and self._settings.region:
            return ""
        if self._environment is None:
            self._environment = "\x00".join(self._identity())
        return self._environment

    def _identity(self) -> Iterator[str]:
        """Yield what the environment alone says of who asks: the profile, and the key where it is a fixed one."""
        _require_library()
        from botocore.exceptions import BotoCoreError

        try:
            session = self._session()
            identity = (session.profile, session.get_config_variable("region"), fixed_key(session))
        except BotoCoreError:  # no such profile, or no credentials yet; the first call will say so
            return
        yield from (text or "" for text in identity)

    # -- which catalog ---------------------------------------------------------------------------

    @property
    def is_default(self) -> bool:
        """Return whether the root is the catalog that every account has."""
        start = self._settings.catalog_id
        return not start or names.is_account(start)

    @property
    def _account(self) -> str:
        """Return the account, for the ids of catalogs; empty for a compatible service, which takes bare names."""
        start = self._settings.catalog_id
        if start:
            return names.account_of(start) or ""
        return "" if self._settings.endpoint else self.caller

    def catalog_id(self, path: Identifier) -> str | None:
        """Return the id of the catalog at a path below the root, None for the caller's own default catalog."""
        start = self._settings.catalog_id
        if not path:
            return start or None
        if self.is_default and names.is_account(path[0]) and path[0] == self._account:
            return names.below(self._account, Identifier(path[1:]))  # its own number names the root too
        return names.below(start or self._account, path)

    def inside(self, path: Identifier) -> Mapping[str, Any]:
        """Return the parameter that names the catalog of an operation. Without it, that is the caller's account."""
        id_ = self.catalog_id(path)
        return {"CatalogId": id_} if id_ else {}


@contextmanager
def _translated(
    about: str, missing: ErrorType = NamespaceNotFoundError, taken: ErrorType = NamespaceAlreadyExistsError
) -> Iterator[None]:
    """Turn what a call to AWS raises into the contract's error for what happened."""
    _require_library()
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        meaning = errors.from_response(error, about, missing, taken)
        # The original quotes what was signed, a session's token included.
        raise meaning from (None if isinstance(meaning, UnauthenticatedError) else error)
    except BotoCoreError as error:
        raise errors.without_response(error, about) from error
    except ResponseParserError as error:
        raise InternalError(f"{about}: the response of AWS cannot be read.") from error


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
