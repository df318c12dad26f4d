"""Files that appear whole or not at all, readable by their owner alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lanceway.errors import InvalidInputError, PermissionDeniedError, ServiceUnavailableError


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield a new file in the same folder, which replaces `file` at the end. The caller syncs what it writes."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    except PermissionError as error:
        raise PermissionDeniedError(f"{file} cannot be written: {error.strerror}. Check its folder.") from error
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be written: {error.strerror}. Check its folder.") from error
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, file)
    except OSError as error:
        raise ServiceUnavailableError(f"{file} could not be written: {error.strerror}. Free some space.") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
