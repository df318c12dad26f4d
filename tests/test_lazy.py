"""A part of a package that is loaded when it is asked for: who imports what is there finds everything all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "thing/__init__.py": "from thing.api.one import One\nfrom thing.api import Two\nfrom thing.models import Model\n",
    "thing/api/__init__.py": "from thing.api.one import One\nfrom thing.api.two import Two\n",
    "thing/api/one.py": "class One: pass\n",
    "thing/api/two.py": "from thing.models import Model\nclass Two: pass\n",
    "thing/models.py": "class Model: pass\n",
}
BEFORE = """
import sys
from lanceway.lazy import deferred
with deferred("thing", "api"):
    import thing
    from thing.models import Model
assert not [name for name in sys.modules if name.startswith("thing.api")], sys.modules
assert thing.Model is Model
"""


@pytest.mark.parametrize(
    "statement",
    [
        "assert thing.One.__module__ == 'thing.api.one'; assert thing.One is thing.api.One",
        "from thing import Two; import thing.api.two; assert Two is thing.api.two.Two",
        "import thing.api; assert thing.api.One is thing.One; assert thing.api.two.Model is Model",
        "from thing.api.one import One; assert thing.One is One",
        "assert not hasattr(thing, 'Three')",
        "import importlib; importlib.reload(thing); assert thing.One.__name__ == 'One'",
        "import pickle; assert pickle.loads(pickle.dumps(thing.Two)) is thing.Two",
    ],
)
def test_what_is_deferred_is_there_when_it_is_asked_for(tmp_path: Path, statement: str) -> None:
    run(tmp_path, f"{BEFORE}\n{statement}")


def test_a_package_that_was_imported_before_stays_as_it_is(tmp_path: Path) -> None:
    run(
        tmp_path,
        "import thing, thing.api as api\nfrom lanceway.lazy import deferred\nwith deferred('thing', 'api'):\n"
        "    import thing.models\nassert thing.api is api; assert '__getattr__' not in vars(thing)",
    )


def test_a_package_that_is_missing_leaves_nothing_behind(tmp_path: Path) -> None:
    run(
        tmp_path,
        "import sys\nfrom lanceway.lazy import deferred\nbefore = list(sys.meta_path)\ntry:\n"
        "    with deferred('nothing', 'api'):\n        import nothing\nexcept ModuleNotFoundError:\n    pass\n"
        "assert sys.meta_path == before",
    )


def run(folder: Path, program: str) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    program = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
