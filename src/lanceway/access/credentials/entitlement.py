"""What one caller may do with the files of a table, as the rules have it, and the credentials for just that.

Who owns a table may do everything with its files. Who may read it may read them, and with the right to change it too
may write new ones. Without the right to read there are none: who writes files can read what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanceway.access.credentials.options import VendedOptions
from lanceway.access.credentials.vending import CredentialHolder, Vending
from lanceway.access.credentials.vendor import StorageAccess
from lanceway.access.decisions import grounds, judge
from lanceway.access.principal import Principal
from lanceway.access.rules import BY_NAME, Rule
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError
from lanceway.lake.access import facts
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.fast_holdings import load_fast
from lanceway.lake.access.securables import RecordedObject, Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import clones, locations

_OWN, _READ, _MODIFY = BY_NAME["own table"], BY_NAME["read table"], BY_NAME["modify table"]


class StorageEntitlement:
    """The credentials of one caller. `place` finds a table's place among the objects that rights are given on.

    `still_holds` says whether an object of a mounted catalog is the one that a right was given on.
    """

    def __init__(
        self,
        vending: Vending,
        store: LakeStore,
        principal: Principal,
        place: Callable[[Sequence[str]], Securable],
        still_holds: Callable[[str, RecordedObject], bool],
    ) -> None:
        self._vending, self._store, self._principal = vending, store, principal
        self._caller = Caller(principal.name, principal.groups)
        self._place, self._still_holds = place, still_holds

    def is_vended(self, names: Sequence[str], location: str) -> bool:
        """Return whether credentials are made for the storage of a table, for those who may read it."""
        return self._vending.serves(canonical(names[0]), location)

    def at_hand(self, names: Sequence[str], location: str) -> VendedOptions | None:
        """Return credentials that were made before, if the caller still may have them; None means to ask for them."""
        access = self._access_at_hand(names)
        return None if access is None else self._vending.at_hand(self._holder(names, location, access))

    def credentials(self, names: Sequence[str], location: str, request_id: str) -> VendedOptions | None:
        """Return credentials to what the caller may do with the files of a table; None for who may not read it.

        Raises ServiceUnavailableError, and InvalidInputError for a location that none can be made for.
        """
        access = self.access(names)
        if access is None:
            return None
        return self._vending.vend(self._holder(names, location, access), request_id, self._base_paths)

    def owner_credentials(self, names: Sequence[str], location: str, request_id: str) -> VendedOptions:
        """Return credentials for the location of a table that the caller is about to make, and will own."""
        return self._vending.vend(self._holder(names, location, StorageAccess.OWN), request_id, self._base_paths)

    def refuse_shared(self, location: str) -> None:
        """Refuse a location that tables of others may lie in. Raises InvalidInputError."""
        self._vending.refuse_sites(location)
        self._refuse_others(location, locations.spelled(location))

    def _access_at_hand(self, names: Sequence[str]) -> StorageAccess | None:
        if self._principal.admin:
            return StorageAccess.OWN
        reads = self._store.fast_reads
        held = None if reads is None else load_fast(reads, self._caller, self._place(names))
        return None if held is None else _allowed(lambda rule: rule.allows(held))

    def access(self, names: Sequence[str]) -> StorageAccess | None:
        """Return what the caller may do now with the files of a table, None for nothing."""
        if self._principal.admin:
            return StorageAccess.OWN
        place = self._place(names)
        while True:  # until what it rests on is still there; what is not has lapsed then, and is not found again
            found = self._store.read(facts.load, self._caller, place)
            verdicts = {rule: judge(found, rule) for rule in (_OWN, _READ, _MODIFY)}
            rest_on = [recorded for verdict in verdicts.values() for recorded in grounds(found, verdict)]
            if all(self._still_holds(str(place.catalog), recorded) for recorded in rest_on):
                return _allowed(verdicts.__getitem__)

    def _holder(self, names: Sequence[str], location: str, access: StorageAccess) -> CredentialHolder:
        return CredentialHolder(self._principal.name, (canonical(names[0]), *names[1:]), location, access)

    def _base_paths(self, location: str) -> tuple[str, ...]:
        """Return where else a table has files: a clone's are recorded. Refuse a location that others are in."""
        spelling = locations.spelled(location)
        self._refuse_others(location, spelling)
        return tuple(self._store.read(clones.base_paths, spelling))

    def _refuse_others(self, location: str, spelling: str) -> None:
        if self._store.read(locations.holds_others, spelling):
            # Of a mounted folder that is around the lake's: a credential for it would open the tables of others.
            raise InvalidInputError(
                f"No credentials can be made for {location}: tables of the lake are stored below it."
            )


def _allowed(allows: Callable[[Rule], object]) -> StorageAccess | None:
    if allows(_OWN):
        return StorageAccess.OWN
    if not allows(_READ):
        return None
    return StorageAccess.WRITE if allows(_MODIFY) else StorageAccess.READ
