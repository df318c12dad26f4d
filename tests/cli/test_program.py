"""The program in a process of its own: which namespace it takes, how it ends, what it draws on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, command

pytestmark = pytest.mark.slow


@pytest.fixture
def configured(tmp_path: Path, people: Path, bare: Run) -> Path:
    """A configuration file beside the process, which names two folders; one has a table."""
    file = tmp_path / "lanceway.toml"
    sections = (f'[namespaces.{name}]\ntype = "dir"\npath = "{tmp_path / name}"\n' for name in ("one", "two"))
    file.write_text("\n".join(sections))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert bare("--in", "one", "tables", "create", "people", str(people)).code == 0
    return file


def test_a_namespace_of_the_configuration(configured: Path, process: Run) -> None:
    assert process("--in", "one", "tables", "list").out == "people\n"


def test_another_configuration_file(
    configured: Path, bare: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = configured.rename(tmp_path / "other.toml")
    assert bare("--config", str(moved), "--in", "one", "tables", "list").out == "people\n"
    ended = bare("--in", "one", "tables", "list")
    assert ended.code == 1
    assert "No namespace is called 'one'" in ended.err
    monkeypatch.setenv("LANCEWAY_CONFIG", str(moved))
    assert bare("--in", "one", "tables", "list").out == "people\n"


def test_several_namespaces_need_a_choice(configured: Path, bare: Run) -> None:
    ended = bare("tables", "list")
    assert (ended.code, ended.out) == (2, "")
    assert "one, two are configured" in " ".join(ended.err.split())
    assert "--in NAME" in ended.err


def test_the_only_namespace_is_taken(configured: Path, bare: Run) -> None:
    configured.write_text(configured.read_text().split("\n\n")[0])
    assert bare("tables", "list").out == "people\n"


def test_without_a_configuration(bare: Run, configured: Path, tmp_path: Path) -> None:
    configured.unlink()
    ended = bare("tables", "list")
    assert ended.code == 2
    assert "No namespace is chosen. Use --path FOLDER" in " ".join(ended.err.split())
    folder = str(tmp_path / "one")
    assert bare("--path", folder, "tables", "list").out == "people\n"
    assert bare("--type", "dir", "--set", f"path={folder}", "tables", "list").out == "people\n"


def test_two_choices_are_wrong_use(bare: Run) -> None:
    assert bare("--in", "one", "--path", ".", "tables", "list").code == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--type", "nonsense", "tables", "list"), "'nonsense'"),
        (("--path", ".", "--set", "pth=x", "tables", "list"), "'pth'"),
        (("--type", "dir", "tables", "list"), "'path'"),
    ],
)
def test_bad_settings_are_refused_in_one_line(bare: Run, arguments: tuple[str, ...], reason: str) -> None:
    ended = bare(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert reason in ended.err
    assert "(code 13, InvalidInput)" in ended.err


def test_a_missing_table(configured: Path, process: Run) -> None:
    ended = process("--in", "one", "tables", "describe", "nobody")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith("lanceway: ")
    assert ended.err.endswith("(code 4, TableNotFound)\n")


def test_wrong_use(process: Run) -> None:
    ended = process("tables", "sing")
    assert (ended.code, ended.out) == (2, "")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [("tables", "list", "--nonsense"), ("--config", "no-such-file", "doctor"), ("--set", "x", "doctor")],
)
def test_wrong_options(bare: Run, arguments: tuple[str, ...]) -> None:
    ended = bare(*arguments)
    assert (ended.code, ended.out) == (2, "")


@pytest.fixture
def many(tmp_path: Path, bare: Run) -> tuple[str, ...]:
    """A folder with a table whose rows overflow any pipe's buffer, as options of the program."""
    (tmp_path / "many.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(200_000)))
    (tmp_path / "folder").mkdir()
    where = ("--path", str(tmp_path / "folder"))
    assert bare(*where, "tables", "create", "many", str(tmp_path / "many.csv")).code == 0
    return where


@pytest.mark.slow
@pytest.mark.parametrize("how", [("--json",), ("--limit", "200000")], ids=" ".join)
def test_a_closed_pipe_is_quiet(many: tuple[str, ...], how: tuple[str, ...]) -> None:
    with subprocess.Popen(
        command(*many, "tables", "query", "many", *how), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 141


@pytest.mark.slow
def test_ctrl_c_while_printing(many: tuple[str, ...]) -> None:
    with subprocess.Popen(
        command(*many, "tables", "query", "many", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate()
        assert (running.returncode, errors.decode().strip()) == (130, "lanceway: interrupted")


@pytest.mark.slow
def test_ctrl_c_while_creating_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    create = command("--path", str(folder), "--set", "layout=plain", "tables", "create", "t", "-", "--format", "ndjson")
    lines = b'{"n": 1, "text": "some more text"}\n' * 400_000
    with subprocess.Popen(create, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        # More than one block: that it has been read means that the table has been begun.
        running.stdin.write(lines)
        while not (folder / "t").exists():
            running.stdin.write(lines)
        running.send_signal(signal.SIGINT)
        assert running.stderr.readline() == b"\n"
        running.stdin.close()
        errors = running.stderr.read().decode()
        assert running.wait() == 130
    assert errors.splitlines() == ["lanceway: stopping; Ctrl-C again ends at once", "lanceway: interrupted"]
    assert list(folder.iterdir()) == []


class Terminal:
    """A process on a terminal of its own, of which one can read and into which one can type."""

    def __init__(
        self, *arguments: str, stdin: bool = True, columns: int = 100, code: str | None = None, **variables: str
    ) -> None:
        self.master, slave = pty.openpty()
        ends = slave if stdin else subprocess.DEVNULL
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        environment = {**inherited, "TERM": "xterm", "COLUMNS": str(columns), **variables}
        self.process = subprocess.Popen(
            command(*arguments) if code is None else [sys.executable, "-c", code],
            stdin=ends,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def parts(self) -> Iterator[str]:
        while True:
            try:
                part = os.read(self.master, 4096)
            except OSError:  # how Linux says that nobody is on the other side any more
                return
            if not part:
                return
            yield part.decode(errors="replace")

    def until(self, text: str) -> None:
        for part in self.parts():
            self.seen += part
            if text in self.seen:
                return
        raise AssertionError(f"{text!r} never came: {self.seen!r}")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def interrupt(self) -> None:
        """As often as it takes: a signal that comes just before Python waits for a line is noticed only after it."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=0.5)

    def end(self) -> int:
        self.seen += "".join(self.parts())
        os.close(self.master)
        return self.process.wait()


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, ""), ("n\n", 1, "people\n")])
def test_a_drop_asks(configured: Path, bare: Run, answer: str, code: int, left: str) -> None:
    terminal = Terminal("--in", "one", "tables", "drop", "people")
    terminal.until("[y/N]")
    terminal.type(answer)
    assert terminal.end() == code
    assert bare("--in", "one", "tables", "list").out == left


def test_ctrl_c_at_the_question(configured: Path, bare: Run) -> None:
    terminal = Terminal("--in", "one", "tables", "drop", "people")
    terminal.until("[y/N]")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "lanceway: interrupted" in terminal.seen
    assert bare("--in", "one", "tables", "list").out == "people\n"


def test_progress_is_drawn_on_a_terminal(configured: Path, tmp_path: Path, many: tuple[str, ...]) -> None:
    terminal = Terminal("--in", "two", "tables", "create", "many", str(tmp_path / "many.csv"))
    terminal.until("200,000 rows")
    assert terminal.end() == 0
    assert "\x1b[" in terminal.seen
    assert "Created many: 200,000 rows (version 1)." in terminal.seen


def test_a_value_cannot_steer_the_terminal(configured: Path, tmp_path: Path, bare: Run) -> None:
    (tmp_path / "evil.ndjson").write_text(json.dumps({"text": "\x1b]0;owned\x07 [bold]x[/bold]"}))
    assert bare("--in", "two", "tables", "create", "evil", str(tmp_path / "evil.ndjson")).code == 0
    terminal = Terminal("--in", "two", "tables", "query", "evil")
    assert terminal.end() == 0
    assert "\x1b]0" not in terminal.seen
    assert "\\x1b]0;owned\\x07 [bold]x[/bold]" in terminal.seen


# -- colours -------------------------------------------------------------------------------------

ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("arguments", "coloured"),
    [
        (("--help",), f"{ESCAPE}36mtables"),
        (("tables", "list", "--help"), f"{ESCAPE}36m--json"),
        (("--path", ".", "tables", "describe", "gone"), f"{ESCAPE}1;31mlanceway:"),
    ],
    ids=["program", "verb", "error"],
)
def test_colours_are_for_terminals_that_want_them(process: Run, arguments: tuple[str, ...], coloured: str) -> None:
    terminal = Terminal(*arguments)
    terminal.end()
    assert coloured in terminal.seen
    plain = Terminal(*arguments, NO_COLOR="1")
    plain.end()
    assert ESCAPE not in plain.seen
    piped = process(*arguments)
    assert ESCAPE not in piped.out + piped.err


# -- narrow terminals ----------------------------------------------------------------------------

LONG = "library_of_all_notes"
# What a run leaves to be shown, and the lines that show it.
STEPS = [
    {"name": "clean/rejected", "state": "done", "table_name": "lake.library.rejected", "version": 1, "rows": 1_000},
    {"name": "notes", "state": "failed", "table_name": "lake.library.notes", "error": "'notes': it has no key."},
]
EXPECTED = {"expectations": {"clean": {"rows": 2, "expectations": {"has a body": {"broken": 1, "otherwise": "drop"}}}}}
SHOW = (
    "import json\nfrom lanceway.cli.pipeline import show\nfrom lanceway.cli.session import Session\n"
    "show(Session(), json.load(open('run.json')))"
)


def shown(*arguments: str, columns: int, code: str | None = None) -> str:
    """What a verb draws on a terminal of this width, without colours."""
    terminal = Terminal(*arguments, columns=columns, code=code)
    ended = terminal.end()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.seen)
    assert ended == 0, text
    return text


def test_a_run_is_summed_up_at_80_columns(tmp_path: Path) -> None:
    steps = [{"details": {}, "bytes": 12_000_000, "seconds": 3.25, **step} for step in STEPS]
    steps[0]["details"] = EXPECTED
    run = {"pipeline": "notes", "number": 1, "state": "failed", "steps": steps, "attempts": 1, "ended_at": 1, "rows": 1}
    (tmp_path / "run.json").write_text(json.dumps({**run, "seconds": 3.25, "error": "'notes': it has no key. Again."}))
    _, _, *lines = shown(columns=80, code=SHOW).splitlines()
    assert lines[0].split() == ["clean/rejected", "done", "lake.library.rejected", "1", "1000", "3.25"]
    assert lines[1].split()[:3] == ["notes", "failed", "lake.library.notes"]
    assert lines[2:] == [
        "clean/rejected: clean: 1 of 2 rows break 'has a body' (drop)",
        "Run 1 of notes: failed, 1 row in 3.2 s. 'notes': it has no key. Again.",
    ]
    headings = shown(columns=140, code=SHOW).splitlines()[0].split()
    assert headings == ["step", "state", "table", "version", "rows", "size", "rows/s", "seconds"]


@pytest.fixture
def lake(tmp_path: Path, bare: Run) -> tuple[str, ...]:
    """A lake with a job that has ended, as options of the program."""
    where = ("--type", "lake", "--set", f"uri=sqlite:///{tmp_path}/lake.db", "--set", f"root={tmp_path}/data")
    (tmp_path / "notes.ndjson").write_text('{"id": 1}')
    for verb in (("create", LONG, "notes.ndjson"), ("columns", "add", LONG, "--computed", "twice=id * 2")):
        assert bare(*where, "tables", *verb).code == 0
    assert bare(*where, "tables", "columns", "backfill", LONG, "twice").code == 0
    assert bare(*where, "jobs", "worker", "--once").code == 0
    return where


@pytest.mark.parametrize("columns", [50, 80, 140])
def test_jobs_are_listed_at_any_width(lake: tuple[str, ...], bare: Run, columns: int) -> None:
    (job,) = bare(*lake, "jobs", "list", "--json").json
    text = shown(*lake, "jobs", "list", columns=columns)
    assert all(len(line) <= columns for line in text.splitlines()), text
    assert job["id"] in text
    assert LONG in text
    assert str(job["ended_at"]) not in text, "a time is not a number to people"
    assert ("requested by" in text) == (columns != 80)
    if columns == 50:
        assert [line.split()[0] for line in text.splitlines()[:3]] == ["job", "kind", "table"]
