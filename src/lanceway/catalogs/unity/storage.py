"""Storage options of a table: what Unity Catalog vends for it, in pylance's words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lanceway.tables.storage.store import EXPIRES
from lanceway.wire.unity import Vended

# By what Unity calls each kind of credentials: its fields, and what pylance calls them.
_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "aws_temp_credentials": {
            "access_key_id": "aws_access_key_id",
            "secret_access_key": "aws_secret_access_key",
            "session_token": "aws_session_token",
        },
        "azure_user_delegation_sas": {"sas_token": "azure_storage_sas_token"},
        "gcp_oauth_token": {"oauth_token": "google_bearer_token"},
    }
)


def options_of(vended: Vended) -> dict[str, str]:
    """Return storage options; none for a location that needs no credentials, such as a local folder."""
    options = {
        name: vended.credentials[kind][field]
        for kind, names in _NAMES.items()
        for field, name in names.items()
        if vended.credentials.get(kind, {}).get(field)
    }
    if options and vended.expires_at_millis is not None:
        options[EXPIRES] = str(vended.expires_at_millis)
    return options
