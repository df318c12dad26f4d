"""A real PostgreSQL: its own folder, on loopback, gone with the run. Also the program that runs it.

PostgreSQL refuses to run as root, and waits for its clients when it is told to stop. So `postgres.py PORT
SETTING...` makes a folder that a fitting user owns, runs the server there, and stops it at once when told to.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the program below runs without the package around it
    from tests.servers.run import Run

USER = "postgres"
# Whoever is made a member of this role needs a password; all others are trusted.
GUARDED = "guarded"
READY_SECONDS = 60.0
ATTEMPTS = 3
SETTINGS = ("max_connections=200", "listen_addresses=127.0.0.1")
# Nothing of a test run outlives a crash of the machine.
FORGETFUL = ("fsync=off", "full_page_writes=off")


@dataclass(frozen=True)
class Postgres:
    """The run's PostgreSQL server."""

    port: str

    def uri(self, schema: str = "", *, database: str = "postgres") -> str:
        """A lake's uri; with a schema, everything lies in that one."""
        options = f"?options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}{options}"

    def schema(self) -> str:
        """A new schema that nobody else uses."""
        name = f"t{uuid.uuid4().hex}"
        self.execute(f"CREATE SCHEMA {name}")
        return name

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement without Lanceway in between."""
        import psycopg

        with psycopg.connect(self.uri(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def is_ready(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def start(run: Run, *, settings: tuple[str, ...] = FORGETFUL, name: str = "postgres") -> Postgres:
    """The run's PostgreSQL server of a name, started if it is not there yet."""
    return Postgres(**run.once(name, lambda home: {"port": _start(run, settings).port}))


def _start(run: Run, settings: tuple[str, ...]) -> Postgres:
    from tests.servers.run import free_ports, wait_until

    for _ in range(ATTEMPTS):  # another process may take the port between the look and the start
        server = Postgres(str(free_ports(1)[0]))
        process = run.spawn("postgres", [sys.executable, __file__, server.port, *settings], {})
        if wait_until(server.is_ready, process, READY_SECONDS):
            return server
    raise RuntimeError(f"PostgreSQL does not start:\n{(run.folder / 'postgres.log').read_text()[-2000:]}")


def serve(port: str, settings: list[str]) -> int:
    """Run a server in a new folder until it is told to stop; then remove the folder."""
    account = _account()
    home = Path(tempfile.mkdtemp(prefix="lanceway-postgres-"))
    try:
        os.chown(home, account.get("user", -1), account.get("group", -1))
        data = home / "data"
        make = ["initdb", "-D", str(data), "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-N"]
        subprocess.run([_program(make[0]), *make[1:]], check=True, cwd=home, **account)
        trusted = data / "pg_hba.conf"
        trusted.write_text(f"host all +{GUARDED} 127.0.0.1/32 scram-sha-256\n{trusted.read_text()}")
        words = [word for setting in (*SETTINGS, *settings) for word in ("-c", setting)]
        command = [_program("postgres"), "-D", str(data), "-p", port, "-k", str(home), *words]
        return _until_told(subprocess.Popen(command, cwd=home, **account))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _until_told(server: subprocess.Popen[bytes]) -> int:
    def stop(number: int, frame: FrameType | None) -> None:
        server.send_signal(signal.SIGINT)  # its word for: now, whoever is still connected

    signal.signal(signal.SIGTERM, stop)
    return server.wait()


def _account() -> dict[str, Any]:
    """Whom the server runs as: ourselves, unless we are root."""
    if os.getuid() != 0:
        return {}
    entry = pwd.getpwnam(USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _program(name: str) -> str:
    # Debian keeps the programs of each version in a folder of its own, away from the path.
    found = [shutil.which(name), *sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)]
    program = next((path for path in found if path), None)
    if program is None:
        raise RuntimeError(f"The program {name!r} is missing. Install the package: postgresql")
    return program


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], sys.argv[2:]))
