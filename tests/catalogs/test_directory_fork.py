"""A catalog goes on working in a forked child, after its parent has used it.

One generation is what pylance bears: in the child of a forked child that used it, its writes may crash.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.seaweedfs import S3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# A process of its own: pylance warns at a fork, and a child that waits for ever must fail and not stay.
SCRIPT = """
import json, os, signal, sys, traceback, warnings
warnings.simplefilter("ignore")
from lanceway.catalogs import DirectoryCatalog
from tests.catalogs.folders import count, create, make_namespace, namespaces, tables

catalog = DirectoryCatalog(**json.loads(sys.argv[1]))
make_namespace(catalog, "n")
create(catalog, "n", "parent")
create(catalog, "parent")
assert tables(catalog) == ["parent"]

def work(name):
    assert tables(catalog, "n")[-1] == "parent" and count(catalog, "parent") == 3
    create(catalog, name)
    create(catalog, "n", name)
    assert count(catalog, "n", name) == 3
    assert catalog.drop_table({"id": ["n", name]}).id == ["n", name]

child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        work("child")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
work("again")
assert tables(catalog) == ["again", "child", "parent"]
assert tables(catalog, "n") == ["parent"]
"""


def run(settings: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(settings)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_local_folder_after_a_fork(tmp_path: Path) -> None:
    run({"path": str(tmp_path), "layout": "manifest"})


def test_a_bucket_after_a_fork(s3: S3) -> None:
    storage = {f"storage.{name}": value for name, value in s3.storage_options.items()}
    run({"path": s3.prefix(), "layout": "manifest", **storage})
