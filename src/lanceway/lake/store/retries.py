"""The one error that asks for another attempt."""

from __future__ import annotations

from lanceway.errors import ConcurrentModificationError


class RetryError(ConcurrentModificationError):
    """Raised by work that met what somebody else had half done: `LakeStore.run` begins it anew."""
