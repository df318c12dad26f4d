"""A real `lanceway up`: a process of its own on a free loopback port, with a fresh home."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lanceway.access.privileges import PRIVILEGES
from lanceway.wire import lance
from tests.servers.run import Run, free_ports, wait_until

READY_SECONDS = 60.0
ATTEMPTS = 3
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Lanceway:
    """A running server. `uri` is what a Lance client needs, `address` is the server's own."""

    uri: str
    token: str = field(repr=False)
    home: Path
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None, compare=False, repr=False)
    tls: str | None = None  # the authority that signed its certificate, a PEM file

    @property
    def address(self) -> str:
        return self.uri.removesuffix("/lance")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, **options: Any) -> httpx.Client:
        """HTTP without Lanceway's own client in between; paths are those below the server's address."""
        given: dict[str, Any] = {"base_url": self.address, "headers": self.headers, "timeout": 60, "trust_env": False}
        if self.tls:
            import ssl

            given["verify"] = ssl.create_default_context(cafile=self.tls)
        return httpx.Client(**given | options)

    def ask(self, operation: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """One request of Lance REST, by its path below `/lance/v1`. `content` has the type that the operation takes."""
        if "content" in options:
            options["headers"] = {"Content-Type": content_type(operation, path), **(options.get("headers") or {})}
        with self.client() as client:
            return client.request(operation, f"/lance/v1/{path}", json=body, **options)

    def token_for(self, user: str, *privileges: str) -> str:
        """A token for a user who may do everything, or who has these privileges, all over the metalake."""
        role = f"role-of-{user}"
        chosen = privileges or [privilege.name for privilege in PRIVILEGES if "metalake" in privilege.levels]
        changes = [{"role": role, "object": "metalake", "privilege": privilege} for privilege in chosen]
        with self.client(base_url=f"{self.address}/lanceway/v1") as client:
            token: str = client.post("/tokens", json={"user": user}).raise_for_status().json()["token"]
            client.post("/roles", json={"name": role}).raise_for_status()
            client.post("/grants", json={"changes": changes}).raise_for_status()
            client.post(f"/roles/{role}/give", json={"user": user}).raise_for_status()
        return token

    def lines(self) -> str:
        """What the server has printed and logged so far, in whole lines."""
        text = self.log.read_text()
        return text[: text.rfind("\n") + 1]

    def printed(self, text: str) -> bool:
        """Whether the server prints a text. A line may come after the first answers, so it is waited for."""
        for _ in range(300):
            if text in self.lines():
                return True
            time.sleep(0.1)
        return False

    def logged(self, request_id: str) -> dict[str, Any]:
        """What the log says of a request. The line is written after the answer, so it is waited for."""
        for _ in range(300):
            for line in self.lines().splitlines():
                if request_id in line and '"message":"request"' in line:
                    found: dict[str, Any] = json.loads(line)
                    return found
            time.sleep(0.1)
        raise AssertionError(f"the log has no line of the request {request_id}")

    def stop(self) -> int:
        """Tell the server to stop, and wait until it has."""
        assert self.process is not None, "this server is shared by the whole run"
        self.process.terminate()
        return self.process.wait(timeout=60)


def start(
    run: Run,
    *,
    name: str = "lanceway",
    home: Path | None = None,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    settings: str = "",
    scheme: str = "http",
    prefix: str = "",
    tls: str | None = None,
) -> Lanceway:
    """Start a server of one's own. `settings` is the text of its configuration file.

    It ends with the run; `stop` ends it earlier.
    """
    # The log is this server's alone.
    name = f"{name}-{os.getpid()}-{next(_NUMBERS)}"
    home = home or run.folder / f"{name}-{uuid.uuid4().hex[:8]}"
    config = run.folder / f"{name}.toml"
    config.write_text(settings)
    for _ in range(ATTEMPTS):  # another process may take the port between the look and the start
        port = free_ports(1)[0]
        command = [sys.executable, "-m", "lanceway", "up", "--home", str(home), "--port", str(port)]
        command += ["--workers", str(workers), "--config", str(config), *arguments]
        process = run.spawn(name, command, {"LANCE_LOG": "error", **(environment or {})})
        address = f"{scheme}://127.0.0.1:{port}"
        if wait_until(lambda address=address: _is_ready(address, tls), process, READY_SECONDS):  # type: ignore[misc]
            token = (home / "admin-token").read_text().strip()
            server = Lanceway(f"{address}{prefix}/lance", token, home, run.folder / f"{name}.log", process, tls)
            # It serves before it says so.
            assert server.printed("Try next"), server.lines()
            return server
    raise RuntimeError(f"lanceway up does not start:\n{(run.folder / f'{name}.log').read_text()[-2000:]}")


def shared(run: Run) -> Lanceway:
    """The run's server, started if it is not there yet."""

    def begin(home: Path) -> dict[str, str]:
        made = start(run, home=home / "home")
        return {"uri": made.uri, "token": made.token, "home": str(made.home), "log": str(made.log)}

    found = run.once("lanceway", begin)
    return Lanceway(found["uri"], found["token"], Path(found["home"]), Path(found["log"]))


def content_type(method: str, path: str) -> str:
    """The type of the body that an operation of Lance REST takes."""
    route = lance.match(f"/v1/{path.partition('?')[0]}").methods.get(method)
    return lance.ARROW_STREAM if route is not None and route.body is lance.Body.ARROW else lance.JSON


def _is_ready(address: str, tls: str | None) -> bool:
    import ssl

    verify: Any = ssl.create_default_context(cafile=tls) if tls else True
    try:
        return httpx.get(f"{address}/ready", verify=verify, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
