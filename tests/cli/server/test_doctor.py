"""`lanceway doctor`: what is installed, what is configured, and whether it answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import obstore
import pytest

import lanceway
from lanceway.access.credentials.checks import CHECKS, LAKE, PASSED, SKIPPED
from lanceway.catalogs.registry import CATALOGS
from lanceway.cli.command import INTERRUPTED, WRONG_USE
from lanceway.cli.server import doctor
from tests.cli.conftest import Run, command
from tests.servers import dead, seaweedfs
from tests.servers.run import Run as ServerRun
from tests.servers.seaweedfs import S3


def test_packages(bare: Run) -> None:
    ended = bare("doctor", "--json")
    assert ended.code == 0
    report = ended.json
    assert report["healthy"] is True
    versions = {row["name"]: row["version"] for row in report["packages"]}
    assert versions["lanceway"] == lanceway.__version__
    assert versions["pylance"] == metadata.version("pylance")
    assert set(versions) == {
        "python",
        "lanceway",
        "java",
        *(package.distribution for package in doctor.PACKAGES),
    }


def test_what_is_missing_has_its_remedy(bare: Run) -> None:
    for row in bare("doctor", "--json").json["packages"]:
        assert row["ok"] or row["fix"]


def test_people_see_a_table(bare: Run) -> None:
    out = bare("doctor").out
    assert metadata.version("pylance") in out
    assert "no lanceway.toml found" in out
    assert out.endswith("Healthy.\n")


def test_namespaces_and_no_secrets(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text(
        f"""
        [namespaces.good]
        type = "dir"
        path = "{tmp_path}"
        "storage.aws_secret_access_key" = "hidden-thing"
        [namespaces.strange]
        type = "nonsense"
        token = "hidden-thing"
        """
    )
    for flags in ((), ("--json",)):
        ended = bare("doctor", *flags)
        assert ended.code == 0
        assert "hidden-thing" not in ended.out + ended.err
    report = ended.json
    assert report["configuration"] == "lanceway.toml"
    states = {row["name"]: (row["type"], row["state"]) for row in report["namespaces"]}
    assert states == {"good": ("dir", "reached"), "strange": ("nonsense", "failed")}


def test_a_service_that_is_down_is_not_reached(bare: Run, tmp_path: Path) -> None:
    """Of every type, also where the root is known from the settings."""
    sections = dead.settings()
    assert set(sections) == set(CATALOGS)
    (tmp_path / "lanceway.toml").write_text(
        "".join(
            f"[namespaces.{type_}]\ntype = {json.dumps(type_)}\n"
            + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in section.items())
            for type_, section in sections.items()
        )
    )
    ended = bare("doctor", "--json", "--seconds", "120")
    outcomes = {row["name"]: (row["state"], row.get("code")) for row in ended.json["namespaces"]}
    assert outcomes == dict.fromkeys(sections, ("failed", 17))
    assert dead.SECRET not in ended.out + ended.err


@pytest.mark.slow
def test_a_namespace_that_never_answers(process: Run, tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(
        "import threading\n"
        "from lance_namespace import LanceNamespace\n"
        "class Silent(LanceNamespace):\n"
        "    def namespace_id(self): return 'silent'\n"
        "    def list_tables(self, request): threading.Event().wait()\n"
    )
    (tmp_path / "lanceway.toml").write_text('[namespaces.silent]\ntype = "silent:Silent"\n')
    ended = process("doctor", "--json", "--seconds", "0.5", PYTHONPATH=str(tmp_path))
    assert ended.code == 0
    [row] = ended.json["namespaces"]
    assert (row["state"], row["reason"]) == ("no answer", "nothing came within 0.5 seconds")


def test_a_broken_configuration(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text("this is no TOML")
    ended = bare("doctor", "--json")
    assert ended.code == 1
    assert ended.json["healthy"] is False
    assert "not valid TOML" in ended.json["problems"][0]
    assert "not valid TOML" in bare("doctor").out


@pytest.mark.parametrize("module", ["lance", "lance_namespace", "pyarrow"])
def test_a_broken_base(module: str) -> None:
    """The package is there and cannot be imported, as after a bad installation."""
    code = (
        f"import sys\nsys.modules[{module!r}] = None\nsys.argv = ['lanceway', 'doctor', '--json']\n"
        "from lanceway.cli import main\nmain()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (1, "")
    report = json.loads(ended.stdout)
    assert report["healthy"] is False
    fixes = {row["name"]: row["fix"] for row in report["packages"] if not row["ok"] and row["needed"] == "always"}
    assert any(fix.startswith("pip install --force-reinstall '") for fix in fixes.values())


@pytest.fixture
def s3(whole_run: ServerRun) -> S3:
    return seaweedfs.start_sts(whole_run)


def configure(folder: Path, s3: S3, warehouse: str, more: str = "") -> None:
    """Write the configuration of a server whose warehouse has a role."""
    options = "\n".join(f'storage.{key} = "{value}"' for key, value in s3.storage_options.items())
    (folder / "lanceway.toml").write_text(
        f"""
        [server]
        warehouse = "{warehouse}"
        credentials.role_arn = "{seaweedfs.ROLE}"
        {options}
        {more}
        """
    )


def test_storages_are_checked(bare: Run, tmp_path: Path, s3: S3) -> None:
    configure(tmp_path, s3, s3.prefix(), f'[catalogs.plain]\ntype = "dir"\npath = "{tmp_path}"')
    ended = bare("doctor", "--storage", "--json")
    assert ended.code == 0, ended.out
    outcomes = {(row["storage"], row["name"]): row["outcome"] for row in ended.json}
    assert outcomes[LAKE, "refused for a neighbour whose name begins alike"] == PASSED
    assert outcomes[LAKE, "expired is refused"] == SKIPPED
    assert outcomes["plain", "reachable"] == SKIPPED
    assert {name for _, name in outcomes} == set(CHECKS)
    shown = bare("doctor", "--storage")
    assert "refused outside the table" in shown.out
    assert f"{LAKE}: reads: passed (" in shown.out
    assert "plain: reachable: skipped (0.0 s): it is a folder" in shown.out
    assert seaweedfs.SECRET not in shown.out + ended.out + ended.err


def test_checks_are_told_as_they_end_and_a_wait_can_be_ended(tmp_path: Path, s3: S3) -> None:
    """Ctrl-C while it waits a quarter of an hour for the end of a credential."""
    place = s3.prefix()
    configure(tmp_path, s3, place, "credentials.duration = 60")
    waiting = subprocess.Popen(
        command("doctor", "--storage", "--wait"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with waiting:
        assert waiting.stdout is not None
        assert waiting.stderr is not None
        told = [waiting.stdout.readline() for _ in range(CHECKS.index("expired is refused"))]
        assert [line.split(": ")[1:2] for line in told] == [[name] for name in CHECKS[: len(told)]]
        # The key lives for a quarter of an hour, whatever its clients are told.
        assert re.search(r"has ended: 1[45] min \d\d s more", waiting.stderr.readline())
        waiting.send_signal(signal.SIGINT)
        out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == INTERRUPTED
    assert "expired is refused: skipped" in out
    assert "renewal" not in out
    assert not [entry for page in obstore.list(s3.store(place)) for entry in page], "it leaves nothing behind"


def test_a_wait_without_a_storage_is_a_mistake(bare: Run) -> None:
    ended = bare("doctor", "--wait")
    assert ended.code == WRONG_USE
    assert "Add --storage" in ended.err


def test_a_storage_that_fails_is_a_failure(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text(
        """
        [server]
        warehouse = "s3://none/warehouse"
        storage.aws_endpoint = "http://127.0.0.1:9"
        storage.allow_http = true
        storage.aws_region = "here"
        storage.aws_access_key_id = "key"
        storage.aws_secret_access_key = "sesame"
        credentials.role_arn = "arn:aws:iam::123456789012:role/tables"
        """
    )
    ended = bare("doctor", "--storage")
    assert ended.code == 1
    assert "sesame" not in ended.out + ended.err
