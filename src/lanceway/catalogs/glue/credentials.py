"""Who asks Glue: the default chain, static or temporary keys, or a role that is assumed anew before it ends."""

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

# Sessions that last less than this, in seconds, are renewed when half of them is over rather than by the clock.
_SHORT = 1800.0


def session_for(settings: Mapping[str, Any], config: Config) -> Session:
    """A new session of the AWS library with the identity that the settings name. Nothing is asked yet."""
    base = _session(settings["region"])
    if settings["access_key_id"]:
        base.set_credentials(settings["access_key_id"], settings["secret_access_key"], settings["session_token"])
    if not settings["assume_role_arn"]:
        return base
    assumed = _session(settings["region"])
    provider = _RoleProvider(base, settings, config)
    assumed.register_component("credential_provider", CredentialResolver([provider]))
    return assumed


def _session(region: str | None) -> Session:
    made = Session()
    made.register_component("data_loader", _loader(made.get_config_variable("data_path")))
    if region:
        made.set_config_variable("region", region)
    return made


@cache
def _loader(path: str | None) -> Loader:
    """Glue's model is large, and read once for all sessions of the process."""
    return create_loader(path)


def fixed_key(session: Session) -> str | None:
    """The id of the access key, None where keys come and go."""
    credentials = session.get_credentials()
    if credentials is None or isinstance(credentials, RefreshableCredentials):
        return None
    return str(credentials.access_key)


class _RoleProvider(CredentialProvider):  # type: ignore[misc]
    METHOD = "assume-role"

    def __init__(self, base: Session, settings: Mapping[str, Any], config: Config) -> None:
        super().__init__()
        self._base, self._settings, self._config = base, settings, config

    def load(self) -> RoleCredentials:
        source = self._base.get_credentials()
        if source is None:
            raise NoCredentialsError
        given = self._settings
        wanted = {
            "RoleSessionName": given["assume_role_session_name"],
            "DurationSeconds": given["assume_role_timeout_sec"],
            "ExternalId": given["assume_role_external_id"],
        }
        fetcher = AssumeRoleCredentialFetcher(
            partial(
                self._base.create_client,
                region_name=given["assume_role_region"] or given["region"],
                config=self._config,
            ),
            source,
            given["assume_role_arn"],
            extra_args={name: value for name, value in wanted.items() if value},
        )
        return RoleCredentials(fetcher.fetch_credentials)


class RoleCredentials(DeferredRefreshableCredentials):  # type: ignore[misc]
    """A role's session. The AWS library renews one in its last fifteen minutes, which may be all it has:
    a short one would be renewed for every request. Here that begins at half of its life."""

    def __init__(self, fetch: Callable[[], Mapping[str, Any]]) -> None:
        self._lasts = _SHORT
        self._fetch = fetch
        super().__init__(self._fetched, _RoleProvider.METHOD)

    def _fetched(self) -> Mapping[str, Any]:
        fetched = self._fetch()
        left = (parse_timestamp(fetched["expiry_time"]) - self._time_fetcher()).total_seconds()
        if left <= 0:
            wrong = "the session that STS gave has ended already; the clock of this machine is wrong"
            raise CredentialRetrievalError(provider=self.method, error_msg=wrong)
        self._lasts = min(left, _SHORT)
        return fetched

    def refresh_needed(self, refresh_in: float | None = None) -> bool:
        early = self._advisory_refresh_timeout if refresh_in is None else refresh_in
        return bool(super().refresh_needed(early * self._lasts / _SHORT))
