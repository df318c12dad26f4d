"""What a metastore raises means, where no metastore of the suite can be made to raise it."""

from __future__ import annotations

import pytest
from hive_metastore import ttypes
from thrift.Thrift import TException

from lanceway.catalogs.hive.errors import MetastoreFault, translated
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (
            ttypes.MetaException("org.example.AccessControlException: no"),
            PermissionDeniedError,
        ),
        (ttypes.MetaException("ERROR 23505: it would have caused a duplicate key value"), NamespaceAlreadyExistsError),
        (ttypes.MetaException("Duplicate entry '1-t' for key 'UNIQUETABLE'"), NamespaceAlreadyExistsError),
        (ttypes.MetaException("ORA-00001: unique constraint (HIVE.U) violated"), NamespaceAlreadyExistsError),
        (ttypes.MetaException("Violation of UNIQUE KEY constraint 'U'"), NamespaceAlreadyExistsError),
        (
            ttypes.MetaException("ExitCodeException chmod: cannot access 't': No such file or directory."),
            ConcurrentModificationError,
        ),
        (ttypes.MetaException("Connection pool is exhausted"), InternalError),
        (ttypes.ConfigValSecurityException("no"), InternalError),
        (ttypes.UnknownDBException("no such database"), NamespaceNotFoundError),
        (ttypes.InvalidInputException("no"), InvalidInputError),
    ],
)
def test_a_fault_has_the_class_of_its_meaning(fault: TException, kind: type[LanceNamespaceError]) -> None:
    with pytest.raises(kind, match="Looking: the Hive Metastore says: "), translated("Looking"):
        raise MetastoreFault(fault)


def test_what_is_missing_is_what_was_asked_for() -> None:
    with pytest.raises(TableNotFoundError), translated("Looking", missing=TableNotFoundError):
        raise MetastoreFault(ttypes.NoSuchObjectException("hive.d.t table not found"))


def test_a_long_text_is_shortened_to_one_line() -> None:
    with pytest.raises(InternalError) as failed, translated("Looking"):
        raise MetastoreFault(ttypes.MetaException("Root cause:\n\tat java.Thing\n" * 200))
    assert len(str(failed.value)) < 500
    assert "\n" not in str(failed.value)
