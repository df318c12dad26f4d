"""Which Python functions a worker may run: those in modules that whoever started it has named.

Whoever may alter a table can name any function that is installed here, so none is allowed unless it is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanceway.errors import PermissionDeniedError


def check(function: str, prefixes: Sequence[str]) -> str:
    """The function, if it may be run. Raises PermissionDeniedError."""
    module = function.partition(":")[0]
    if any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes):
        return function
    allowed = f"Those that may be are in {', '.join(prefixes)}." if prefixes else "It was started without any."
    raise PermissionDeniedError(
        f"The function {function} may not be run by this worker. {allowed} Whoever runs the worker can allow it: "
        f"--functions {module}."
    )
