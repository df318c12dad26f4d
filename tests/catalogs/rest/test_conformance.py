"""The conformance suite through the REST client, over pylance's RestAdapter.

What the adapter does otherwise is what pylance's directory does otherwise, but for what its own client is to blame for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from lanceway.catalogs import RestCatalog
from lanceway.testing import CatalogTests
from tests.catalogs.directory.test_conformance_pylance import BY_REASON, WITHOUT
from tests.servers import restadapter
from tests.servers.restadapter import Adapters

TOKEN = "open-sesame"
# Pylance's client cannot do these; the adapter can.
OF_ITS_CLIENT = frozenset(
    {
        "all other operations take models and no dictionaries",
        "the object is one of Rust's: it is neither pickled nor closed",
        "the operations on versions take dictionaries and no models",
    }
)
# Nor these. Some of them our client refuses by itself, before anything is sent.
ALSO_OF_ITS_CLIENT = frozenset(
    {
        "test_a_property_is_overwritten_kept_or_refused_by_its_mode",
        "test_a_transaction_keeps_the_properties_it_is_given",
        "test_an_empty_name_is_refused[first]",
        "test_an_empty_name_is_refused[last]",
    }
)
REFUSED_HERE = "test_an_operation_on_a_table_needs_an_identifier"


def deviations() -> dict[str, str]:
    reasons = {
        test: reason
        for reason, tests in BY_REASON.items()
        for test in tests
        if reason not in OF_ITS_CLIENT and test not in ALSO_OF_ITS_CLIENT and not test.startswith(REFUSED_HERE)
    }
    return {**reasons, "test_the_latest_version_is_never_deleted": "it is deleted like any other"}


@pytest.fixture(scope="module")
def adapters() -> Iterator[Adapters]:
    with restadapter.adapters() as started:
        yield started


class TestRestAdapter(CatalogTests):
    without: ClassVar[Mapping[str, str]] = {
        flag: reason for flag, reason in WITHOUT.items() if flag not in ("create_empty_table", "streams")
    }
    deviations = deviations()
    secrets = (TOKEN,)

    @pytest.fixture
    def catalog(self, adapters: Adapters, tmp_path: Path) -> Iterator[RestCatalog]:
        with RestCatalog(uri=adapters.serve(tmp_path), token=TOKEN) as catalog:
            yield catalog
