"""`lanceway up` at a real terminal: lines for people, and first commands that work as they are printed."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lanceway.server.http.terminal import TerminalFormatter
from tests.processes import lanceway as program

SECONDS = 120


class Terminal:
    """A server whose output, standard error included, goes to a pseudo-terminal."""

    def __init__(self, *options: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
        command = [sys.executable, "-m", "lanceway", "up", "--port", "0", *options]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.text = ""

    def until(self, pattern: str) -> re.Match[str]:
        """Read on until the output matches."""
        deadline = time.monotonic() + SECONDS
        while (match := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 1)[0]:
                self.text += os.read(self._ours, 65536).decode()
        return match

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(SECONDS)
        os.close(self._ours)


@contextmanager
def at_a_terminal(*options: str) -> Iterator[Terminal]:
    terminal = Terminal(*options)
    try:
        yield terminal
    finally:
        terminal.close()


def commands(shown: str) -> list[str]:
    return re.findall(r"^ *\$ (.+?)\r?$", shown, re.MULTILINE)


def carried_out(command: str) -> str:
    program = f'lanceway() {{ "{sys.executable}" -m lanceway "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(400)
@pytest.mark.parametrize("home", [None, "elsewhere"])
def test_its_first_commands_work_and_its_log_is_for_people(home: str | None, tmp_path: Path) -> None:
    Path(os.environ["HOME"]).mkdir()
    with at_a_terminal(*([] if home is None else ["--home", str(tmp_path / home)])) as terminal:
        terminal.until(r">>> db\.open_table.*\n")
        assert terminal.text.count("shown this once") == 1
        proposed = commands(terminal.text)
        assert ("login" in proposed[0]) == (home is not None)
        answers = [carried_out(command) for command in proposed]
        assert "apple" in answers[-2]
        assert "fruit" in answers[-1]
        python = re.findall(r"^ *>>> (.+?)\r?$", terminal.text, re.MULTILINE)
        session: dict[str, object] = {}
        exec("\n".join(python[:3]), session)
        assert eval(python[3], session) == [{"id": 1, "name": "leek"}]
        exec("\n".join(python[4:6]), session)
        (nearest,) = eval(python[6], session)
        assert nearest["name"] == "apple"
        line = terminal.until(r"[^\n]*POST /lance/v1/table/lake\$fruit/[^\n]*\n")[0]
        assert "\x1b[32m200\x1b[0m" in line
        assert "admin" in line
        assert '{"time"' not in terminal.text


@pytest.mark.parametrize("options", [(), ("--tls-cert", "missing.pem")], ids=["busy port", "certificate without a key"])
def test_a_server_that_cannot_start_leaves_no_home(options: tuple[str, ...], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = program("up", "--home", str(tmp_path / "home"), "--port", port, *options)
    assert done.returncode == 1, done.stdout
    assert ("tls" if options else port) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "home").exists(), "nothing is created, and no token is lost"


def test_what_a_caller_chooses_cannot_control_the_terminal() -> None:
    facts = {"method": "GET", "path": "/\x1b]0;taken\x07", "status": 404, "ms": 1.2, "user": None, "operation": "x"}
    line = TerminalFormatter().request(0.0, facts)
    assert "\x1b]" not in line
    assert "\\x1b]0;taken\\x07" in line
