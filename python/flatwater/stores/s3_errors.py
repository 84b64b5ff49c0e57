"""What S3 and its library say when something is wrong, in words that say what to do next. No login is in them."""

from __future__ import annotations

from typing import Any

from flatwater.errors import FlatwaterError, UserError
from flatwater.stores.store import StoreGone

#: Codes for an object that is not there.
MISSING = frozenset({"NoSuchKey", "404", "NotFound"})
#: Codes for a condition that does not hold (any more).
TAKEN = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
#: Codes of a server that does not know conditions of a PUT.
NOT_SUPPORTED = frozenset({"NotImplemented", "501"})

_LOGIN = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, choose the login"
#: Which server is asked.
SERVER = "AWS_ENDPOINT_URL names the server, if it is not Amazon's"
#: Code -> what is wrong, and the hint.
_WORDS = {
    "InvalidAccessKeyId": ("the server does not know the access key", _LOGIN),
    "SignatureDoesNotMatch": ("the secret of the access key is wrong", _LOGIN),
    "ExpiredToken": ("the login has expired", "get a new one, as with `aws sso login`"),
    "InvalidToken": ("the session token is wrong", "AWS_SESSION_TOKEN belongs to AWS_ACCESS_KEY_ID"),
    "AccessDenied": ("the login may not do that there", f"it needs to list, read and write objects; {_LOGIN}"),
    "AllAccessDisabled": ("the login may not do that there", _LOGIN),
    "403": ("the login may not do that there", f"it needs to list, read and write objects; {_LOGIN}"),
    "NoSuchBucket": ("there is no such bucket", f"make it, or give another; {SERVER}"),
    "RequestTimeTooSkewed": (
        "the clocks of this machine and of the server differ too much",
        "set this machine's clock",
    ),
    "PermanentRedirect": ("the bucket is in another region", "AWS_REGION names it"),
    "AuthorizationHeaderMalformed": ("the bucket is in another region", "AWS_REGION names it"),
    "QuotaExceeded": ("there is no more room in the bucket", "make room there"),
    "EntityTooLarge": ("a file is larger than the server takes", "raise the server's limit"),
    "NoCredentialsError": ("there is no login for S3", _LOGIN),
    "PartialCredentialsError": ("the login for S3 is not whole", _LOGIN),
    "TokenRetrievalError": ("the login has expired", "get a new one, as with `aws sso login`"),
    "CredentialRetrievalError": ("the login cannot be had", _LOGIN),
    "ProfileNotFound": ("there is no such profile", "AWS_PROFILE names one of ~/.aws/config"),
}
#: Answers after which the same question may go well a little later.
_LATER = {"InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout", "Throttling", "500", "502", "503", "504"}


def code_of(error: Any) -> str:
    """The code of an answer that says no."""
    return str(error.response.get("Error", {}).get("Code", ""))


def explained(error: Exception, where: str, bucket: str) -> FlatwaterError:
    """An error of the library as one of ours."""
    response = getattr(error, "response", None)
    code = code_of(error) if isinstance(response, dict) else type(error).__name__
    if code in _WORDS:
        what, hint = _WORDS[code]
        return UserError(f"{what}{f' ({bucket})' if 'bucket' in what else ''}", where=where, hint=hint)
    if isinstance(response, dict) and code not in _LATER:
        text = str(response.get("Error", {}).get("Message", "")).strip()
        return FlatwaterError(
            f"S3 says no: {code or 'without a reason'}{f', {_short(text)}' if text else ''}", where=where
        )
    if isinstance(response, dict):
        return StoreGone(f"S3 cannot serve now ({code})", where=where)
    return StoreGone(f"S3 does not answer ({_reason(error)})", where=where, hint=SERVER)


def _reason(error: Exception) -> str:
    """Why nothing came, in a few words: the library's texts hold the whole address of the question."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        inner = getattr(cause, "error", None) or getattr(cause, "reason", None)
        kwargs = getattr(cause, "kwargs", None)
        inner = inner or (kwargs.get("error") if isinstance(kwargs, dict) else None)
        cause = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__
    return type(error).__name__


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
