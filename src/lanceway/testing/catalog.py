"""CatalogTests: every group of tests in one class."""

from __future__ import annotations

from lanceway.testing.behaviours.background import BackgroundTests
from lanceway.testing.behaviours.bad_input import (
    BrokenArrowTests,
    IdentifierTests,
    MissingTableTests,
    PageTests,
    UnknownModeTests,
    WrongTypeTests,
)
from lanceway.testing.behaviours.columns import ColumnTests, MetadataTests
from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.behaviours.indices import IndexTests
from lanceway.testing.behaviours.lifecycle import (
    CloseTests,
    DictionaryTests,
    IdentityTests,
    ProcessTests,
    StreamTests,
    ThreadTests,
)
from lanceway.testing.behaviours.managed import BatchTests, ManagedTests
from lanceway.testing.behaviours.namespaces import (
    DroppedNamespaceTests,
    ListTests,
    MissingNamespaceTests,
    NestedNamespaceTests,
    NewNamespaceTests,
    RootTests,
    UniqueNameTests,
)
from lanceway.testing.behaviours.queries import PlanTests, ScanTests, TextQueryTests, VectorQueryTests
from lanceway.testing.behaviours.references import BranchTests, TagTests
from lanceway.testing.behaviours.registration import DeregisteredTableTests, RegisteredTableTests, RenamedTableTests
from lanceway.testing.behaviours.rows import (
    CountTests,
    CreatedTableTests,
    DeleteTests,
    InsertTests,
    MergeTests,
    UpdateTests,
)
from lanceway.testing.behaviours.tables import DeclaredTableTests, DescribedTableTests, DroppedTableTests
from lanceway.testing.behaviours.versions import TransactionTests, VersionTests


class NamespaceTests(
    RootTests,
    MissingNamespaceTests,
    NewNamespaceTests,
    NestedNamespaceTests,
    DroppedNamespaceTests,
    UniqueNameTests,
    ListTests,
):
    """Namespaces, and the lists of what they hold."""


class TableTests(
    DeclaredTableTests,
    DescribedTableTests,
    DroppedTableTests,
    DeregisteredTableTests,
    RegisteredTableTests,
    RenamedTableTests,
):
    """Tables as the catalog lists and describes them."""


class DataTests(
    CreatedTableTests,
    InsertTests,
    MergeTests,
    UpdateTests,
    DeleteTests,
    CountTests,
    ScanTests,
    VectorQueryTests,
    TextQueryTests,
    PlanTests,
):
    """The rows of a table."""


class StructureTests(
    IndexTests,
    ColumnTests,
    MetadataTests,
    BackgroundTests,
    VersionTests,
    ManagedTests,
    BatchTests,
    TransactionTests,
    TagTests,
    BranchTests,
):
    """Indices, columns, metadata, versions, tags and branches of a table."""


class InputTests(UnknownModeTests, MissingTableTests, IdentifierTests, BrokenArrowTests, PageTests, WrongTypeTests):
    """Bad input is refused and changes nothing."""


class LifeTests(IdentityTests, DictionaryTests, ThreadTests, ProcessTests, CloseTests, StreamTests, ConcurrencyTests):
    """The catalog as a Python object."""


class CatalogTests(NamespaceTests, TableTests, DataTests, StructureTests, InputTests, LifeTests):
    """Every behaviour of the Lance Namespace contract.

    A catalog's test subclasses it and supplies a fixture:

        class TestFolder(CatalogTests):
            without = {**NO_ENGINE, **STORAGE_MANAGED, "namespaces": "a folder is flat"}

            @pytest.fixture
            def catalog(self, tmp_path):
                return lanceway.connect("dir", path=tmp_path)

    Where others use the catalog too, a fixture `scratch` names a namespace that belongs to the tests
    (`temporary_namespace` makes one and removes it).
    """
