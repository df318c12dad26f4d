"""The unit of `deploy/` for systemd."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

from lanceway.server.run import GRACE_SECONDS
from tests.paths import REPOSITORY
from tests.processes import lanceway

UNIT = REPOSITORY / "deploy" / "lanceway.service"


def unit() -> ConfigParser:
    parser = ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return parser


def test_the_unit_starts_what_the_program_knows() -> None:
    program, verb, *arguments = shlex.split(unit()["Service"]["ExecStart"])
    assert Path(program).name == "lanceway"
    known = lanceway(verb, "--help").stdout
    assert [word for word in arguments if word.startswith("--") and word not in known] == []


def test_the_home_is_the_one_folder_that_the_unit_may_write() -> None:
    service = unit()["Service"]
    assert f"--home /var/lib/{service['StateDirectory']}" in service["ExecStart"]
    assert service["ProtectSystem"] == "strict"


def test_running_requests_have_their_time_to_end() -> None:
    assert int(unit()["Service"]["TimeoutStopSec"]) > GRACE_SECONDS


def test_systemd_takes_it(tmp_path: Path) -> None:
    """Where systemd is; elsewhere each line is at least a key with a value, in a section that there is."""
    assert unit().sections() == ["Unit", "Service", "Install"]
    if analyze := shutil.which("systemd-analyze"):
        program, _, rest = unit()["Service"]["ExecStart"].partition(" ")
        copy = tmp_path / UNIT.name
        copy.write_text(UNIT.read_text().replace(f"{program} {rest}", f"{shutil.which('true')} {rest}"))
        done = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
