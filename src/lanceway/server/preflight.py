"""Before a server starts: all that can be refused is refused here, and the home is made."""

from __future__ import annotations

from contextlib import ExitStack

from lanceway.access.oidc import Oidc
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError
from lanceway.server.home import Home


def prepare(settings: ServerSettings) -> Home:
    """The server's home, made if it is new and closed again. Raises what would keep the server from starting."""
    for file in (settings.tls_cert, settings.tls_key):
        if file is not None and not file.is_file():
            raise InvalidInputError(f"There is no file {file}, which HTTPS needs. Mend tls_cert and tls_key.")
    Oidc.from_settings(settings)
    home = Home.of(settings)
    with ExitStack() as closing:
        closing.callback(home.close)
        closing.callback(FederatedCatalog.from_settings(home.complete(settings), home.store).close)
        AllowedLocations.from_settings(home.complete(settings))
    return home
