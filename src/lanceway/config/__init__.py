"""Settings: rows that say what may be set, and the files and variables they come from.

A value comes from `lanceway.toml`, is overridden by the environment, and that by an argument.
Nothing else in the package reads `os.environ`.

    settings    a setting as a row, and how given values are read by it
    files       the file and the environment
    namespaces  `[namespaces.NAME]`: root namespaces under the names that a tool gives them
    connections servers that the user has logged in to, and the one that runs on this machine
    credentials credentials that end, of the server's storage and of each that it mounts
    server      `[server]` and `[catalogs.NAME]`: the server, and what it mounts
"""

from lanceway.config.connections import Connection
from lanceway.config.credentials import CREDENTIALS, CredentialSettings
from lanceway.config.files import (
    FILE_NAME,
    LAKE_VARIABLES,
    config_file,
    hide_spark_traceback,
    java,
    lake,
    login,
    proxy,
    quiet_lance,
    share_metrics,
    spark_buffer,
    spark_workers_run,
    user_cache_folder,
    user_config_folder,
    variable,
)
from lanceway.config.namespaces import NamespaceSettings, namespace, namespaces
from lanceway.config.server import CATALOG, SERVER, CatalogSettings, ServerSettings, read_catalog, server
from lanceway.config.settings import Setting, is_secret, read_settings, redacted

__all__ = [
    "CATALOG",
    "CREDENTIALS",
    "FILE_NAME",
    "LAKE_VARIABLES",
    "SERVER",
    "CatalogSettings",
    "Connection",
    "CredentialSettings",
    "NamespaceSettings",
    "ServerSettings",
    "Setting",
    "config_file",
    "hide_spark_traceback",
    "is_secret",
    "java",
    "lake",
    "login",
    "namespace",
    "namespaces",
    "proxy",
    "quiet_lance",
    "read_catalog",
    "read_settings",
    "redacted",
    "server",
    "share_metrics",
    "spark_buffer",
    "spark_workers_run",
    "user_cache_folder",
    "user_config_folder",
    "variable",
]
