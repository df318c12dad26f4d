"""Storage options that may leave the server: those that are known to be harmless, and those made for a client.

An allow-list, since the names of options are not ours: an option that is not known to be harmless is removed.
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


class VendedOptions(dict[str, str]):
    """Storage options with credentials that were made for the one who asks: the only secrets that a server sends.

    The type is what lets them pass, so nothing but a vendor's answer is to be made one.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self)})"


def safe_options(options: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the options that a client may know."""
    if options is None:
        return None
    if isinstance(options, VendedOptions):
        return options
    return {key: value for key, value in options.items() if _is_harmless(key, value)}


def _is_harmless(key: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    # An address may carry a password before its @, or a signature in its query.
    return bare(key) in _HARMLESS and not ("://" in value and ("@" in value or "?" in value))


def bare(key: str) -> str:
    """Return the name of an option without the prefix of its cloud."""
    name = key.lower()
    for cloud in _CLOUDS:
        name = name.removeprefix(cloud)
    return name


def find_option(options: Mapping[str, str], *names: str) -> str | None:
    """Return the value of the first of some options that is set, however its cloud's prefix is written."""
    known = {bare(key): value for key, value in options.items()}
    return next((known[name] for name in names if known.get(name)), None)
