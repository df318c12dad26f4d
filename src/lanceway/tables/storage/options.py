"""Storage options of a request beside those of its catalog: credentials are one's or the other's, never mixed.

A request may change how its table is written. It must not make the catalog's credentials go to an address of its
choice, so what it may add to them is little: the region and time-outs. The names are those of object_store, which
pylance takes in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from lanceway.errors import InvalidInputError

_S3, _AZURE = "S3", "Azure"
_SCHEMES = {"s3": _S3, "s3a": _S3, "s3+ddb": _S3, "az": _AZURE, "azure": _AZURE, "abfs": _AZURE, "abfss": _AZURE}
_LOCAL = ("", "file", "file-object-store")
_ID, _SECRET, _SESSION = "access key id", "secret access key", "session token"
_KEY, _SAS, _BEARER = "key", "SAS", "bearer token"
_CLIENT, _CLIENT_SECRET, _TENANT = "client", "client secret", "tenant"

# What says who asks, and for which cloud. Those of Google are missing: its keys are documents, or files of this
# machine, that may name an address themselves.
_CREDENTIALS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("aws_access_key_id", "access_key_id"), (_S3, _ID)),
    **dict.fromkeys(("aws_secret_access_key", "secret_access_key"), (_S3, _SECRET)),
    **dict.fromkeys(("aws_session_token", "aws_token", "session_token"), (_S3, _SESSION)),
    **dict.fromkeys(("azure_storage_account_key", "azure_storage_access_key", "account_key"), (_AZURE, _KEY)),
    **dict.fromkeys(("azure_storage_sas_key", "azure_storage_sas_token", "sas_key", "sas_token"), (_AZURE, _SAS)),
    **dict.fromkeys(("azure_storage_token", "bearer_token"), (_AZURE, _BEARER)),
    **dict.fromkeys(("azure_storage_client_id", "azure_client_id", "client_id"), (_AZURE, _CLIENT)),
    **dict.fromkeys(("azure_storage_client_secret", "azure_client_secret", "client_secret"), (_AZURE, _CLIENT_SECRET)),
    **dict.fromkeys(("azure_storage_tenant_id", "azure_tenant_id", "tenant_id"), (_AZURE, _TENANT)),
}
# The credentials that suffice by themselves. With fewer, a store would look for the rest in its environment.
_WHOLE = {_S3: ({_ID, _SECRET},), _AZURE: ({_KEY}, {_SAS}, {_BEARER}, {_CLIENT, _CLIENT_SECRET, _TENANT})}
# A region is part of a host's name, and a duration is a number.
_REGION, _DURATION = re.compile(r"[A-Za-z0-9-]{1,64}"), re.compile(r"\d{1,9} ?[a-z]{0,12}")
_OVERRIDES: Mapping[str, tuple[str, re.Pattern[str]]] = {
    **dict.fromkeys(("aws_region", "region", "aws_default_region", "default_region"), ("region", _REGION)),
    "timeout": ("timeout", _DURATION),
    "connect_timeout": ("connect_timeout", _DURATION),
}
# What says where storage is and how to talk to it, without the prefix of a cloud.
_ADDRESSES = frozenset(
    {
        *("account_name", "allow_http", "allow_invalid_certificates", "authority_host", "bucket", "bucket_name"),
        *("checksum_algorithm", "client_max_retries", "client_retry_timeout", "conditional_put", "connect_timeout"),
        *("container_name", "copy_if_not_exists", "default_region", "disable_tagging", "endpoint", "endpoint_url"),
        *("http1_only", "http2_only", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate"),
        *("proxy_excludes", "proxy_url", "randomize_addresses", "region", "request_payer", "root_certificate"),
        *("s3_express", "server_side_encryption", "timeout", "unsigned_payload", "use_emulator"),
        *("use_fabric_endpoint", "user_agent", "virtual_hosted_style_request"),
    }
)
_CLOUDS = ("aws_", "azure_storage_", "azure_")


def check(requested: object) -> None:
    """Refuse options of a request from elsewhere that are no credentials of its own, region or time-out."""
    if not isinstance(requested, Mapping):
        return  # none, or no options at all, which the request's model refuses
    beyond = sorted(str(key) for key in requested if not _is_known(str(key)))
    if beyond:
        raise InvalidInputError(
            f"storage_options: {', '.join(map(repr, beyond))} cannot be set by a request. It may bring credentials of "
            "its own (aws_access_key_id, aws_secret_access_key, aws_session_token; azure_storage_account_key, "
            "azure_storage_sas_key, azure_storage_token, or azure_storage_client_id, azure_storage_client_secret and "
            "azure_storage_tenant_id), aws_region, timeout and connect_timeout. Where storage is, the server knows."
        )
    for key, value in requested.items():
        override = _OVERRIDES.get(str(key).lower())
        if override is not None and not (isinstance(value, str) and override[1].fullmatch(value)):
            raise InvalidInputError(f"storage_options: the value of {key!r} is not a {override[0]}.")


def _is_known(key: str) -> bool:
    return key.lower() in _CREDENTIALS or key.lower() in _OVERRIDES


def combined(location: str, configured: Mapping[str, str] | None, requested: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a request is carried out with, from those of its catalog and its own.

    Region and time-outs override the catalog's. With credentials of its own, a request has of the catalog's options
    none but those that say where storage is. With anything else, such as an endpoint, it has its own alone.

    Raises InvalidInputError where credentials are not whole, or for another cloud than the location's.
    """
    names = {key.lower() for key in requested}
    if names <= _OVERRIDES.keys():
        return {**_without(configured or {}, requested), **requested}
    if not all(map(_is_known, names)):
        return dict(requested)
    _require_whole(location, names & _CREDENTIALS.keys())
    return {**_without(_addresses(configured or {}), requested), **requested}


def for_table(location: str, configured: Mapping[str, str] | None, requested: Mapping[str, str]) -> dict[str, str]:
    """Combine a catalog's options with those that the properties of one of its tables name.

    Clients write such properties, and every later reader of the table uses them. So an address needs credentials beside
    it, or those of the catalog or of this machine would go there; and nothing may be named that finds credentials.

    Raises InvalidInputError for options that a table's properties must not set.
    """
    changes = {key: value for key, value in requested.items() if (configured or {}).get(key) != value}
    names = {key.lower() for key in changes}
    if all(map(_is_known, names)):
        check(changes)
        return combined(location, configured, changes)
    beyond = sorted(name for name in names if not _is_known(name) and _bare(name) not in _ADDRESSES)
    if beyond:
        raise InvalidInputError(
            f"The storage options {', '.join(beyond)} cannot be set by a table's properties. Set them for the catalog."
        )
    if not names & _CREDENTIALS.keys() and urlsplit(location).scheme.lower() not in _LOCAL:
        raise InvalidInputError(
            f"The storage options {', '.join(sorted(names))} cannot be set by a table's properties alone: the "
            "catalog's credentials would go there. Set them for the catalog, or beside credentials of the table's own."
        )
    _require_whole(location, names & _CREDENTIALS.keys())
    return dict(requested)


def _addresses(configured: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in configured.items() if _bare(key) in _ADDRESSES}


def _bare(key: str) -> str:
    name = key.lower()
    return next((name.removeprefix(cloud) for cloud in _CLOUDS if name.startswith(cloud)), name)


def _without(configured: Mapping[str, str], requested: Mapping[str, str]) -> dict[str, str]:
    """Return the catalog's options that the request does not override, whichever of its names an option has."""
    overridden = {_OVERRIDES[key.lower()][0] for key in requested if key.lower() in _OVERRIDES}
    return {key: value for key, value in configured.items() if _OVERRIDES.get(key.lower(), (key,))[0] not in overridden}


def _require_whole(location: str, names: set[str]) -> None:
    scheme = urlsplit(location).scheme.lower()
    if scheme in _LOCAL:
        return
    cloud = _SCHEMES.get(scheme)
    parts = {_CREDENTIALS[name][1] for name in names if _CREDENTIALS[name][0] == cloud}
    if cloud is None or {_CREDENTIALS[name][0] for name in names} != {cloud}:
        raise InvalidInputError(
            f"storage_options: {', '.join(sorted(names))} are not credentials for {scheme}://, where the table is."
        )
    if not any(complete <= parts for complete in _WHOLE[cloud]):
        choices = " or ".join(" and ".join(sorted(complete)) for complete in _WHOLE[cloud])
        raise InvalidInputError(
            f"storage_options: {', '.join(sorted(names))} alone are not complete credentials for {cloud}; {choices} "
            "would be. None are taken from the catalog's own."
        )
