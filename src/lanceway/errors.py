"""The one error tree: the Lance Namespace contract's own, under Lanceway's name.

    LanceNamespaceError                    code  means
    ├── UnsupportedOperationError             0  this catalog has no such operation
    ├── NamespaceNotFoundError                1
    ├── NamespaceAlreadyExistsError           2
    ├── NamespaceNotEmptyError                3  drop with cascade, or empty it first
    ├── TableNotFoundError                    4
    ├── TableAlreadyExistsError               5
    ├── TableIndexNotFoundError               6
    ├── TableIndexAlreadyExistsError          7
    ├── TableTagNotFoundError                 8
    ├── TableTagAlreadyExistsError            9
    ├── TransactionNotFoundError             10
    ├── TableVersionNotFoundError            11
    ├── TableColumnNotFoundError             12
    ├── InvalidInputError                    13  the request itself is wrong
    ├── ConcurrentModificationError          14  somebody was faster; ask again
    ├── PermissionDeniedError                15
    ├── UnauthenticatedError                 16
    ├── ServiceUnavailableError              17
    ├── InternalError                        18  nobody's fault but ours, or an unreadable answer
    ├── InvalidTableStateError               19  the table is there but cannot be used so
    ├── TableSchemaValidationError           20  the data does not fit the table
    ├── ThrottlingError                      21
    ├── TableBranchNotFoundError             22
    └── TableBranchAlreadyExistsError        23

No other exception leaves a catalog: a foreign one is caught by name around the one foreign
call and becomes the code that its meaning has.
"""

from lance_namespace.errors import (
    ConcurrentModificationError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    ThrottlingError,
    TransactionNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
    from_error_code,
)

__all__ = [
    "ConcurrentModificationError",
    "ErrorCode",
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "LanceNamespaceError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "PermissionDeniedError",
    "ServiceUnavailableError",
    "TableAlreadyExistsError",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersionNotFoundError",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnsupportedOperationError",
    "from_error_code",
]
