"""Credentials for Glue: the default chain, static or temporary keys, or a role whose sessions are renewed in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

from lanceway.catalogs.glue.settings import GlueSettings

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
