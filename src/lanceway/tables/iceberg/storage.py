"""Options of a store as pylance takes them, and as pyiceberg does: the properties of its files' storage."""

from __future__ import annotations

from collections.abc import Mapping

# Without the prefix of the cloud, which pylance lets one leave out.
_NAMES: Mapping[str, str] = {
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "token": "s3.session-token",
    "region": "s3.region",
    "default_region": "s3.region",
    "endpoint": "s3.endpoint",
    "endpoint_url": "s3.endpoint",
    "virtual_hosted_style_request": "s3.force-virtual-addressing",
    "skip_signature": "s3.anonymous",
}
_CLOUD = "aws_"


def storage_properties(options: Mapping[str, str] | None) -> dict[str, str]:
    """Return the options of a store on S3 as pyiceberg takes them. What it has no name for is left out.

    Stores of other clouds are opened with what the environment says.
    """
    named = {key.lower().removeprefix(_CLOUD): value for key, value in (options or {}).items()}
    return {_NAMES[key]: value for key, value in named.items() if key in _NAMES}
