"""The background jobs of a tree: recorded in its own lake, whatever catalog they are for."""

from __future__ import annotations

from lanceway.catalogs.contract.job_queue import DeskMethods, JobQueue
from lanceway.catalogs.federated.root import FederatedRoot
from lanceway.errors import UnsupportedOperationError


class FederatedJobs(DeskMethods, FederatedRoot):
    """Jobs of all catalogs; a table's identifier begins with its catalog's name."""

    def _require_desk(self, operation: str) -> JobQueue:
        desk = self._desk_of(None)
        if desk is None:
            raise UnsupportedOperationError(f"{operation}: a tree without a lake of its own keeps no jobs.")
        return desk
