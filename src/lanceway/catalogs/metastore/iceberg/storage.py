"""Storage options of a table that a server of Iceberg REST describes: its own, the catalog's, and what is vended."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lanceway.tables.storage import options
from lanceway.tables.storage.store import EXPIRES
from lanceway.wire.iceberg import LoadedTable

PREFIX = "storage."
# Iceberg's words for what pylance calls otherwise.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "s3.access-key-id": "aws_access_key_id",
        "s3.secret-access-key": "aws_secret_access_key",
        "s3.session-token": "aws_session_token",
        "s3.region": "aws_region",
        "client.region": "aws_region",
        "s3.endpoint": "aws_endpoint",
        "s3.session-token-expires-at-ms": EXPIRES,
        "gcs.oauth2.token": "google_bearer_token",
        "gcs.oauth2.token-expires-at": EXPIRES,
    }
)
_SAS = "adls.sas-token."
_SAS_EXPIRES = "adls.sas-token-expires-at-ms."


def options_of(loaded: LoadedTable, own: Mapping[str, str], *, vended: bool) -> dict[str, str] | None:
    """Return the storage options of a table, None for none. The more special wins: vended, the table's, the catalog's.

    Raises InvalidInputError where the table's properties name an address for credentials that are not the table's.
    """
    table_options = own_options(loaded.properties)
    vended_options = _vended(loaded) if vended else {}
    if vended_options:
        options.check(table_options)
    return {**options.for_table(loaded.location, own, table_options), **vended_options} or None


def own_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options among a table's properties."""
    return {key.removeprefix(PREFIX): value for key, value in properties.items() if key.startswith(PREFIX)}


def public(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties without those that are storage options, and may be secrets."""
    return {key: value for key, value in properties.items() if not key.startswith(PREFIX)}


def _vended(loaded: LoadedTable) -> dict[str, str]:
    """Return what the server vends for this table: by the longest prefix of its location, else for any."""
    fitting = [row for row in loaded.credentials if loaded.location.startswith(row[0])]
    special = max(fitting, key=lambda row: len(row[0]))[1] if fitting else {}
    return _translated({**loaded.config, **special})


def _translated(config: Mapping[str, str]) -> dict[str, str]:
    translated = {_NAMES[key]: value for key, value in config.items() if key in _NAMES}
    for key, value in config.items():
        if key.startswith(_SAS_EXPIRES):
            translated[EXPIRES] = value
        elif key.startswith(_SAS):
            translated["azure_storage_sas_token"] = value
            translated["azure_storage_account_name"] = key.removeprefix(_SAS).partition(".")[0]
    if translated.get("aws_endpoint", "").startswith("http://"):
        translated["allow_http"] = "true"
    return translated
