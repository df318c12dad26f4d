"""What an answer tells of storage: where it is and how to talk to it, never the server's own keys.

An allow-list, since the names of options are not ours: what is not known to be harmless stays here.
"""

from __future__ import annotations

from collections.abc import Mapping

# As object_store and pylance spell them, without the prefix of a cloud.
_HARMLESS = frozenset(
    {
        "account_name",
        "allow_http",
        "bucket",
        "bucket_name",
        "conditional_put",
        "container_name",
        "copy_if_not_exists",
        "default_region",
        "disable_tagging",
        "endpoint",
        "endpoint_url",
        "expires_at_millis",
        "imdsv1_fallback",
        "region",
        "request_payer",
        "s3_express",
        "server_side_encryption",
        "skip_signature",
        "unsigned_payload",
        "use_emulator",
        "use_fabric_endpoint",
        "virtual_hosted_style_request",
    }
)
_CLOUDS = ("aws_", "azure_storage_", "azure_", "google_", "gcs_", "oss_", "cos_")


def disclosed(options: Mapping[str, str] | None) -> dict[str, str] | None:
    """The options that a client may know."""
    if options is None:
        return None
    return {key: value for key, value in options.items() if _is_harmless(key, value)}


def _is_harmless(key: str, value: str) -> bool:
    name = key.lower()
    for cloud in _CLOUDS:
        name = name.removeprefix(cloud)
    # An address may carry a password before its @, or a signature in its query.
    return name in _HARMLESS and not ("://" in value and ("@" in value or "?" in value))
