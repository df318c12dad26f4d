"""The errors of Glue and the AWS library as the contract's: by code, never by message."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from lanceway.errors import (
    ConcurrentModificationError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
    recognized,
)

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

ErrorType = type[LanceNamespaceError]


class GlueForbiddenError(PermissionDeniedError):
    """A call that Glue denies. The Glue specification gives it code 16, where the contract has 15."""

    code = ErrorCode.UNAUTHENTICATED


class DeniedPageError(PermissionDeniedError):
    """A later page of a list that Glue denies, although it gave the first: what there is of the list is not whole.

    It is no GlueForbiddenError, after which a list goes on without what its caller may not see at all.
    """

    code = ErrorCode.UNAUTHENTICATED


class FederationError(ServiceUnavailableError):
    """Glue is there, but the service behind one of its federated catalogs does not answer."""


MISSING = "EntityNotFoundException"
TAKEN = frozenset({"AlreadyExistsException", "FederatedResourceAlreadyExistsException"})

_CODES: Mapping[ErrorType, tuple[str, ...]] = {
    UnsupportedOperationError: (
        "InvalidAction",
        "NotImplemented",
        "OperationNotSupportedException",
        "UnknownOperationException",
        "UnsupportedOperation",
        "UnsupportedOperationException",
    ),
    InvalidInputError: (
        "InvalidInputException",
        "InvalidParameterValue",
        "PermissionTypeMismatchException",
        "SerializationException",
        "ValidationError",
        "ValidationException",
    ),
    ConcurrentModificationError: (
        "ConcurrentModificationException",
        "ConditionCheckFailureException",
        "ConflictException",
        "VersionMismatchException",
    ),
    GlueForbiddenError: (
        "AccessDenied",
        "AccessDeniedException",
        "NotAuthorized",
        "OptInRequired",
        "UnauthorizedOperation",
    ),
    UnauthenticatedError: (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    ),
    FederationError: ("FederationSourceException", "FederationSourceRetryableException"),
    ServiceUnavailableError: (
        "OperationTimeoutException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ResourceNotReadyException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    ),
    ThrottlingError: (
        "LimitExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "ResourceNumberLimitExceededException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    ),
    InternalError: (
        "GlueEncryptionException",
        "InternalFailure",
        "InternalServerException",
        "InternalServiceException",
    ),
}
KINDS: Mapping[str, ErrorType] = MappingProxyType({code: kind for kind, codes in _CODES.items() for code in codes})
_STATUSES: Mapping[int, ErrorType] = {
    401: UnauthenticatedError,
    403: GlueForbiddenError,
    429: ThrottlingError,
    **dict.fromkeys((408, 502, 503, 504), ServiceUnavailableError),
}
# What a refusal means on a later page: where the first one came, these say nothing about the list as a whole.
_ON_LATER_PAGE: Mapping[ErrorType, ErrorType] = {
    GlueForbiddenError: DeniedPageError,
    FederationError: ServiceUnavailableError,
    InvalidInputError: InternalError,
    NamespaceNotFoundError: ConcurrentModificationError,
    UnsupportedOperationError: InternalError,
}
_ADVICE: Mapping[ErrorType, str] = {
    InvalidInputError: "Correct the request.",
    ConcurrentModificationError: "Look again and retry.",
    GlueForbiddenError: "Grant it to the identity in use: in IAM, and in Lake Formation where that governs it.",
    UnauthenticatedError: "Check access_key_id, secret_access_key and session_token, or the default chain.",
    FederationError: "The service behind this federated catalog does not answer; look there.",
    ServiceUnavailableError: "Try again later.",
    ThrottlingError: "It was asked several times, with pauses. Try again later, or raise the account's quota.",
}


def from_response(error: ClientError, about: str, missing: ErrorType, taken: ErrorType) -> LanceNamespaceError:
    """Return the contract's error for one that Glue, or STS on its behalf, sent as its response."""
    code = _code(error)
    message = error.response.get("Error", {}).get("Message", "")
    kind = _kind(error, missing, taken)
    # A signature that does not match is answered with all that was signed, the session's token included.
    words = "" if kind is UnauthenticatedError else f": {message.rstrip('.')}"
    advice = _ADVICE.get(kind, "")
    text = f"{about}: AWS answers {error.operation_name} with {code}{words}.{' ' if advice else ''}{advice}"
    return recognized(kind, text)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _kind(error: ClientError, missing: ErrorType, taken: ErrorType) -> ErrorType:
    code = _code(error)
    if code == MISSING:
        return missing
    if code in TAKEN:
        return taken
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return KINDS.get(code) or _STATUSES.get(status, InternalError)


def on_later_page(error: LanceNamespaceError) -> LanceNamespaceError:
    """Return the error of a list that breaks off after its first page, which none may take for the end of the list."""
    kind = _ON_LATER_PAGE.get(type(error), type(error))
    return kind(f"{error} The list broke off after its first page, so nothing of it is given.")


def was_retried(error: LanceNamespaceError) -> bool:
    """Return whether this is the response to a retry: the first request may have worked, and its response got lost."""
    response = getattr(error.__cause__, "response", None) or {}
    return bool(response.get("ResponseMetadata", {}).get("RetryAttempts"))


def without_response(error: BotoCoreError, about: str) -> LanceNamespaceError:
    """Return the contract's error for one of the AWS library itself: no request was sent, or no response came."""
    from botocore import exceptions as aws

    if isinstance(error, aws.NoRegionError):
        return InvalidInputError(
            f"{about}: no AWS region is known. Set region, or AWS_DEFAULT_REGION in the environment."
        )
    if isinstance(error, aws.InvalidRegionError | aws.UnknownRegionError | aws.UnknownEndpointError):
        return InvalidInputError(f"{about}: the AWS region cannot be used: {error} Set region, such as eu-central-1.")
    if isinstance(error, aws.ParamValidationError):
        return InvalidInputError(f"{about}: the request is not valid. {' '.join(str(error).split())}")
    credentials = (
        aws.NoCredentialsError,
        aws.PartialCredentialsError,
        aws.CredentialRetrievalError,
        aws.MetadataRetrievalError,
        aws.TokenRetrievalError,
        aws.SSOError,
        aws.ProfileNotFound,
        aws.ConfigNotFound,
        aws.ConfigParseError,
        aws.InvalidConfigError,
    )
    if isinstance(error, credentials):
        return UnauthenticatedError(
            f"{about}: there are no AWS credentials to ask with ({type(error).__name__}). Set access_key_id and "
            "secret_access_key, or correct what the default chain reads."
        )
    if isinstance(error, aws.HTTPClientError | aws.ConnectionError):  # one that cannot be made, or breaks
        return ServiceUnavailableError(
            f"{about}: AWS cannot be reached ({type(error).__name__}): {error}. Check endpoint, region and network."
        )
    return InternalError(f"{about}: the answer of AWS cannot be read ({type(error).__name__}).")
