"""Puts the jar of the Spark bridge into the wheel, where the environment that builds it has PySpark and `javac`.

`make wheel` builds in such an environment. A wheel that is built elsewhere comes without the jar, which is then built
when it is first needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        try:
            from lanceway.errors import UnsupportedOperationError
            from lanceway.spark.catalog import bridge
        except ImportError as error:
            self._without(error)
            return
        self._folder = tempfile.TemporaryDirectory()
        made = Path(self._folder.name, bridge.jar_name())
        try:
            bridge.build(made)
        except (ImportError, UnsupportedOperationError) as error:
            self._without(error)
            return
        build_data["force_include"][str(made)] = f"lanceway/spark/jvm/{made.name}"

    def _without(self, reason: Exception) -> None:
        self.app.display_warning(f"The wheel comes without the jar of the Spark bridge: {reason}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
