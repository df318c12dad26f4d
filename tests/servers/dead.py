"""Settings of catalogs of each type whose services are gone: nobody listens on their port."""

from __future__ import annotations

from collections.abc import Mapping

from tests.servers.run import free_ports

SECRET = "open-sesame-4c7e"


def settings() -> dict[str, Mapping[str, str]]:
    """The settings of a catalog by its type. Requests are not sent again."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    http = f"http://{address}"
    keys = {"access_key_id": "key", "secret_access_key": SECRET, "region": "us-east-1"}
    bucket = {"aws_endpoint": http, "allow_http": "true", "client_max_retries": "0", "client_retry_timeout": "1"}
    storage = {**bucket, **{f"aws_{name}": value for name, value in keys.items()}}
    once = {"max_retries": "0"}
    return {
        "dir": {"path": "s3://bucket/warehouse", **{f"storage.{name}": value for name, value in storage.items()}},
        "glue": {"endpoint": http, **keys},
        "gravitino": {"endpoint": http, "metalake": "m", "auth_token": SECRET, **once},
        "hive": {"uri": f"thrift://{address}", **once},
        "iceberg": {"endpoint": http, "warehouse": "w", "auth_token": SECRET, **once},
        "lake": {"uri": f"postgresql://me:{SECRET}@{address}/lake", "root": "s3://bucket/warehouse"},
        "polaris": {"endpoint": http, "warehouse": "w", "credential": f"robot:{SECRET}", **once},
        "rest": {"uri": http, "token": SECRET, "retries": "0"},
        "unity": {"endpoint": http, "catalog": "main", "auth_token": SECRET, **once},
    }
