"""Find and read configuration files and the environment."""

from __future__ import annotations

import getpass
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from lanceway.config.settings import as_text, unknown
from lanceway.errors import InvalidInputError

NAMESPACES, CATALOGS, SERVER = "namespaces", "catalogs", "server"
FILE_NAME = "lanceway.toml"
# Where a lake is, and how it is made, for those who name none: a password in a variable is in no list of processes.
LAKE_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "uri": "LANCEWAY_DATABASE",
        "root": "LANCEWAY_WAREHOUSE",
        "separator": "LANCEWAY_SEPARATOR",
        "policy": "LANCEWAY_SEPARATOR_POLICY",
    }
)

Section = dict[str, str]


def config_file() -> Path | None:
    """Find the file: `$LANCEWAY_CONFIG`, else `./lanceway.toml`, else the one in the user's configuration folder."""
    named = os.environ.get("LANCEWAY_CONFIG")
    if named:
        if not Path(named).is_file():
            raise InvalidInputError(
                f"LANCEWAY_CONFIG names {named!r}, but there is no such file. Correct it or unset it."
            )
        return Path(named)
    candidates = (Path(FILE_NAME), user_config_folder() / FILE_NAME)
    return next((path for path in candidates if path.is_file()), None)


def user_config_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "lanceway"


def user_cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lanceway"


def make_private(file: Path) -> None:
    """Make a file that its owner alone may read, unless it is there. SQLite gives its journals the mode of the file."""
    with suppress(OSError):  # who opens it next says better what is wrong
        os.close(os.open(file, os.O_CREAT | os.O_RDONLY, 0o600))


# -- the file ------------------------------------------------------------------------------------


def document(file: str | Path | None) -> tuple[Path | None, Mapping[str, object]]:
    """Read a configuration file, by default the one that `config_file` finds; empty if there is no file."""
    path = Path(file) if file is not None else config_file()
    if path is None:
        return None, {}
    try:
        with path.open("rb") as opened:
            content = tomllib.load(opened)
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is not valid TOML: {error}.") from error
    for name in content:
        if name not in (SERVER, CATALOGS, NAMESPACES):
            raise InvalidInputError(unknown(str(path), (SERVER, CATALOGS, NAMESPACES), name, "section"))
    return path, content


def section(path: Path | None, content: Mapping[str, object], kind: str) -> Section:
    """Return the settings under `[kind]`, flat."""
    entries = content.get(kind, {})
    if not isinstance(entries, dict):
        raise InvalidInputError(f"{path}: {kind!r} must be a section: [{kind}].")
    return dict(_flatten(entries))


def sections(path: Path | None, content: Mapping[str, object], kind: str, example: str) -> dict[str, Section]:
    """Return the settings under each `[kind.NAME]`, flat, by name."""
    entries = content.get(kind, {})
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise InvalidInputError(f"{path}: {kind!r} must hold sections such as [{kind}.{example}].")
    return {name: dict(_flatten(entry)) for name, entry in entries.items()}


def _flatten(entry: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings with dotted names: `[namespaces.x.storage] region` as `storage.region`."""
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", as_text(value)


# -- the environment -----------------------------------------------------------------------------


def override(entries: Section, kind: str) -> None:
    """Override settings: `LANCEWAY_SERVER__PORT` sets `port` of `[server]`; further `__` stand for dots."""
    for _, suffix, value in _variables(kind):
        entries[_key(suffix)] = value


def override_named(entries: dict[str, Section], kind: str) -> None:
    """Override settings of sections: `LANCEWAY_NAMESPACES__LAKE__TOKEN` sets `token` of `[namespaces.lake]`.

    A variable alone, such as the token of a section that this file does not have, makes none: that takes a type.
    """
    in_file = set(entries)
    for variable, suffix, value in _variables(kind):
        name, _, key = suffix.partition("__")
        if not name or not key:
            raise InvalidInputError(
                f"The variable {variable} must name one of the {kind} and a setting: {_prefix(kind)}<NAME>__<SETTING>."
            )
        section_name = next(
            (section_name for section_name in entries if section_name.lower() == name.lower()), name.lower()
        )
        entries.setdefault(section_name, {})[_key(key)] = value
    for name in [name for name, entry in entries.items() if name not in in_file and "type" not in entry]:
        del entries[name]


def _variables(kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield each variable of a kind, the rest of its name, and its value."""
    prefix = _prefix(kind)
    for variable, value in os.environ.items():
        if variable.upper().startswith(prefix):
            yield variable, variable[len(prefix) :], value


def _prefix(kind: str) -> str:
    return f"LANCEWAY_{kind.upper()}__"


def _key(text: str) -> str:
    return text.lower().replace("__", ".")


def lake() -> dict[str, str]:
    """Return the settings of the lake that the environment has, by their names."""
    values = {name: os.environ.get(variable, "") for name, variable in LAKE_VARIABLES.items()}
    return {name: value for name, value in values.items() if value}


def variable(name: str) -> str | None:
    """Return a variable that a user's file refers to by name."""
    return os.environ.get(name)


def proxy(scheme: str, host: str) -> str | None:
    """Return the proxy for a scheme and a `host:port`: `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`, less `NO_PROXY`."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    named = proxies.get(scheme) or proxies.get("all")
    return named if named and not proxy_bypass(host) else None


def quiet_lance() -> None:
    """Keep pylance's warnings off the terminal, unless `LANCE_LOG` is set. It reads this when first imported."""
    os.environ.setdefault("LANCE_LOG", "error")


def share_metrics(folder: str) -> None:
    """Let the processes that are started from here add their metrics up in a folder. prometheus_client looks for it."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder


def shows_colours() -> bool:
    """Return whether terminals are to show colours, as far as `NO_COLOR` and `TERM` say."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def java() -> str | None:
    """Return the `java` that Spark starts: that of `$JAVA_HOME`, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")


def spark_workers_run(python: str) -> bool:
    """Let the Python workers of a Spark that is started from here be this one, unless `PYSPARK_PYTHON` is another."""
    return os.environ.setdefault("PYSPARK_PYTHON", python) == python


def spark_buffer() -> int:
    """Return how many bytes a Python worker of Spark buffers before it passes them on, as Spark tells it."""
    return int(os.environ.get("SPARK_BUFFER_SIZE", 2**16))


def hide_spark_traceback() -> None:
    """Let the worker of Spark that this process is tell its error without a traceback. PySpark looks for it."""
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"


def login() -> str:
    """Return the name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a process without an account
        return "anonymous"
