"""Connecting to Glue: settings, the client, and which catalog an identifier lies in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.glue import names, settings
from lanceway.catalogs.glue.client import GlueClient
from lanceway.identifiers import Identifier


class GlueConnection(Catalog):
    """A Glue catalog as the root: an account's own, or any below it."""

    TYPE = "glue"
    SETTINGS = settings.SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings.check(self._owner(), self._settings)
        self._glue = GlueClient(self._settings)
        # Asked for once. No lock: whoever asks at the same time finds the same.
        self._known: dict[str, str] = {}

    def close(self) -> None:
        super().close()
        self._glue.close()

    def _identity(self) -> Mapping[str, str]:
        return {**super()._identity(), "environment": self._environment}

    @property
    def _environment(self) -> str:
        """What the settings leave to the environment: region, and who asks."""
        if self._settings["access_key_id"] and self._settings["region"]:
            return ""
        if "environment" not in self._known:
            self._known["environment"] = "\x00".join(self._glue.identity())
        return self._known["environment"]

    # -- which catalog ---------------------------------------------------------------------------

    @property
    def _is_default(self) -> bool:
        """Whether the root is the catalog that every account has."""
        start = self._settings["catalog_id"]
        return not start or names.is_account(start)

    @property
    def _account(self) -> str:
        """The account, for the ids of catalogs; empty for a compatible service, which takes bare names."""
        start = self._settings["catalog_id"]
        if start:
            return names.account_of(start) or ""
        return "" if self._settings["endpoint"] else self._caller

    @property
    def _caller(self) -> str:
        """The account of who asks."""
        if "caller" not in self._known:
            self._known["caller"] = self._glue.account()
        return self._known["caller"]

    def _catalog_id(self, path: Identifier) -> str | None:
        """The id of the catalog at a path below the root, None for the caller's own default catalog."""
        start = self._settings["catalog_id"]
        if not path:
            return start or None
        if self._is_default and names.is_account(path[0]) and path[0] == self._account:
            return names.below(self._account, Identifier(path[1:]))  # its own number names the root too
        return names.below(start or self._account, path)

    def _in(self, path: Identifier) -> Mapping[str, Any]:
        """The parameter that says in which catalog an operation works. Left out, it is the caller's account."""
        id_ = self._catalog_id(path)
        return {"CatalogId": id_} if id_ else {}
