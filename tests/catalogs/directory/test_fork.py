"""What of a catalog works in a forked child, after its parent has used it.

Names do: finding, listing, claiming and dropping them, in a manifest too. Rows do not: pylance says of itself that
it is not safe after a fork, and a forked child that writes with it may crash. Such work belongs in spawned processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import REPOSITORY
from tests.servers.seaweedfs import S3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# A process of its own: pylance warns at a fork, and a child that waits for ever must fail and not stay.
SCRIPT = """
import json, os, signal, sys, traceback, warnings
warnings.simplefilter("ignore")
from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import NamespaceNotEmptyError, NamespaceNotFoundError, TableAlreadyExistsError
from tests.catalogs.directory.folder_helpers import create, declare, location, make_namespace, namespaces, tables

def assert_refused(work, error):
    try:
        work()
    except error:
        return
    raise AssertionError(error)

settings = json.loads(sys.argv[1])
tree = DirectoryCatalog(**settings, layout="manifest")
make_namespace(tree, "n")
create(tree, "n", "t")
create(tree, "t")
plain = DirectoryCatalog(**settings, layout="plain")

def work(name):
    assert (tables(tree), namespaces(tree), tables(tree, "n")) == (["t"], ["n"], ["t"])
    assert location(tree, "n", "t") != location(tree, "t") == location(plain, "t")
    declare(plain, name)
    assert name in tables(plain)
    plain.drop_table({"id": [name]})
    make_namespace(tree, "n", name)
    declare(tree, "n", name, "u", properties={"k": "v"})
    assert tree.describe_table({"id": ["n", name, "u"]}).properties == {"k": "v"}
    tree.rename_table({"id": ["n", name, "u"], "new_table_name": "w"})
    assert_refused(lambda: declare(tree, "n", name, "w"), TableAlreadyExistsError)
    assert_refused(lambda: tree.drop_namespace({"id": ["n", name]}), NamespaceNotEmptyError)
    tree.drop_table({"id": ["n", name, "w"]})
    tree.drop_namespace({"id": ["n", name]})
    assert_refused(lambda: tables(tree, "n", name), NamespaceNotFoundError)

work("before")
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
work("after")
"""


def run(settings: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(settings)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.slow
def test_a_local_folder_after_a_fork(tmp_path: Path) -> None:
    run({"path": str(tmp_path)})


def test_a_bucket_after_a_fork(s3: S3) -> None:
    run({"path": s3.prefix(), **{f"storage.{name}": value for name, value in s3.storage_options.items()}})
