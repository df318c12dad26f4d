"""Properties of Iceberg tables and views that would turn a client against its user.

pyiceberg opens a table's files with all properties of the table, so that one who may set properties could send the
requests of everyone who reads the table, with their credentials or their token, to an address of their choice, or
have a class loaded by its name. Such keys belong into a client's own configuration, or into the `config` that the
server answers beside the metadata, which overrides them. They are refused wherever metadata comes in: in a new table,
in a commit, in a file that is registered, and in a file that is read, which who writes the table can write over.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.errors import InvalidInputError

# What says where requests go, with what identity, and which code runs.
_KEYS = frozenset(
    {
        "authentication-type",
        "catalog-impl",
        "credential",
        "encryption.kms-impl",
        "encryption.kms-type",
        "io-impl",
        "metrics-reporter-impl",
        "oauth2-server-uri",
        "prefix",
        "py-catalog-impl",
        "py-io-impl",
        "scope",
        "signer",
        "token",
        "uri",
        "warehouse",
        "write.location-provider.impl",
        "write.py-location-provider.impl",
    }
)
_PREFIXES = (
    "abfs.",
    "adlfs.",
    "adls.",
    "auth.",
    "client.",
    "fs.",
    "gcs.",
    "gs.",
    "hadoop.",
    "hdfs.",
    "header.",
    "hf.",
    "http.",
    "oauth2.",
    "oss.",
    "proxy.",
    "rest.",
    "s3.",
    "s3a.",
    "s3tables.",
    "signer.",
    "ssl.",
    "storage.",
)
_SHOWN = 5


def is_trusted(key: str) -> bool:
    """Return whether a property of a table cannot change where the requests of its readers go, or what code runs."""
    name = key.strip().lower()
    return name not in _KEYS and not name.startswith(_PREFIXES)


def checked(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties as they may be stored. Raises InvalidInputError for those that would redirect clients."""
    refused = sorted(key for key in properties if not is_trusted(key))
    if refused:
        shown = ", ".join(repr(key[:80]) for key in refused[:_SHOWN])
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        raise InvalidInputError(
            f"The properties {shown}{more} cannot be set on a table or a view: clients would use them to open its "
            "files, and so send requests and credentials of others there, or load code. Set them in the client's own "
            "configuration."
        )
    for key, value in properties.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidInputError(
                f"The property {str(key)[:80]!r} is not a string with a string as its value. Use strings."
            )
    return dict(properties)
