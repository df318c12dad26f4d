"""The branches of the tree that a server serves: each mounted catalog has threads of its own while it is there."""

from __future__ import annotations

from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.server.threads import CatalogThreads, ThreadLimits


class Branches:
    """Keeps the threads of a server in step with what is mounted. Used from one event loop."""

    def __init__(self, tree: FederatedCatalog, threads: CatalogThreads) -> None:
        self._tree, self.threads = tree.pinned(), threads
        self._followed: tuple[str | None] | None = None

    async def follow(self, name: str | None) -> None:
        """Notice what was mounted or dropped before a request for the catalog of this name is given to a thread.

        Where the database can be asked at once, the event loop asks. Otherwise a thread does, but only for a name that
        is new here: for others the request itself asks, on the thread that it is given to.
        """
        if not self._tree.is_fresh() and (self._tree.is_readable_at_once or not self._tree.is_known(name)):
            await self.threads.run(None, self._tree.refresh)
        state = (self._tree.revision,)
        if self._followed != state:
            self._followed = state
            mounts = self._tree.mounts().values()
            self.threads.follow(
                {mount.name: ThreadLimits(mount.name, mount.threads, mount.deadline) for mount in mounts}
            )
