"""Every error Pincite raises: one root, families by what a caller can do, one leaf per stable code.

`code` is the stable name (docs/errors.md lists them all), `reason` the fine cause in lower case, `retryable`
whether the same call may work later unchanged, `hint` what a person can do next. Context never holds secrets.
Exit codes and HTTP statuses are derived in `surfaces/errors.py`, not here. Cancellation is not an error.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pincite.domain.budget import Usage


class PinciteError(Exception):
    """Root of all errors. `str(error)` is one sentence for a person."""

    code: ClassVar[str] = "INTERNAL"
    default_reason: ClassVar[str] = "internal"
    default_hint: ClassVar[str] = ""
    default_retryable: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Each code has itself, in lower case, for its reason where none is named."""
        if "code" in vars(cls) and "default_reason" not in vars(cls):
            cls.default_reason = cls.code.lower()

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
        retry_after_s: float | None = None,
        context: Mapping[str, str | int | float | bool | None] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.default_reason
        self.hint = self.default_hint if hint is None else hint
        self.retryable = self.default_retryable if retryable is None else retryable
        self.retry_after_s = retry_after_s
        self.context = dict(context or {})
        self.spent: Usage | None = None
        """What was used before it failed, where somebody counted; the ledger charges this instead of its estimate."""

    def as_dict(self) -> dict[str, str | bool]:
        """`{code, reason, message, hint, retryable}`, the shape every surface prints."""
        return {name: getattr(self, name) for name in ("code", "reason", "message", "hint", "retryable")}


class InputError(PinciteError):
    """Something the caller passed can't be used."""


class InvalidInput(InputError):
    """An argument is missing, malformed or contradicts another."""

    code = "INVALID_INPUT"


class InvalidTopic(InputError):
    """The question is empty, has no word in it, or is too long."""

    code = "INVALID_TOPIC"
    default_hint = "Ask a question in words, up to 20,000 characters."


class InvalidUrl(InputError):
    """The text is not a URL that may be fetched. `reason` says why (`scheme`, `userinfo`, `control`, ...)."""

    code = "INVALID_URL"
    default_reason = "url_invalid"
    default_hint = "Give a full http:// or https:// URL without a user name."


class InvalidSetting(InputError):
    """A setting has an unknown name or a value out of range."""

    code = "INVALID_SETTING"


class ExtraNotInstalled(InputError):
    """An optional part is needed; the hint is the exact install command."""

    code = "EXTRA_NOT_INSTALLED"


class LibraryNotFound(InputError):
    """The local library (folder, WARC, WACZ or index) isn't there or can't be read."""

    code = "LIBRARY_NOT_FOUND"
    default_hint = "Check the path, or build an index with: pincite index PATH"


class NotFound(InputError):
    """The named thing does not exist."""

    code = "NOT_FOUND"


class Conflict(InputError):
    """The request contradicts the present state."""

    code = "CONFLICT"


class PolicyRefusal(PinciteError):
    """A rule of safety or politeness forbids this."""


class BlockedAddress(PolicyRefusal):
    """The address, host name or port is not one that pages may be fetched from."""

    code = "BLOCKED_ADDRESS"
    default_reason = "ssrf_address"
    default_hint = (
        "Only public addresses are fetched. The operator can open a private network: PINCITE_ALLOW_NETWORKS=CIDR."
    )


class DomainDenied(PolicyRefusal):
    """A domain list excludes this host."""

    code = "DOMAIN_DENIED"


class RobotsDisallowed(PolicyRefusal):
    """The site's robots.txt asks not to fetch this page."""

    code = "ROBOTS_DISALLOWED"


class Unauthorized(PolicyRefusal):
    """The caller has no valid key for this."""

    code = "UNAUTHORIZED"


class ShareRefused(PolicyRefusal):
    """What another installation shared does not hold, or may not be shared; nothing of it is kept."""

    code = "SHARE_REFUSED"


class RemoteError(PinciteError):
    """A page or host could not be read."""


class NetworkError(RemoteError):
    """The connection failed or broke."""

    code = "NETWORK_ERROR"
    default_retryable = True


class DnsError(RemoteError):
    """The host name has no address, or the name server did not answer."""

    code = "DNS_ERROR"
    default_retryable = True


class TlsError(RemoteError):
    """The certificate or the handshake is bad. Never retried without verification."""

    code = "TLS_ERROR"


class Timeout(RemoteError):
    """A deadline passed; `reason` names the stage."""

    code = "TIMEOUT"
    default_retryable = True


class TooLarge(RemoteError):
    """More bytes than the cap allows."""

    code = "TOO_LARGE"


class TooManyRedirects(RemoteError):
    """More hops than allowed, or a loop."""

    code = "TOO_MANY_REDIRECTS"


class DeadLink(RemoteError):
    """The page is gone (404, 410, or the name does not exist)."""

    code = "DEAD_LINK"


class PageBlocked(RemoteError):
    """The site answered with a refusal or a bot wall instead of the page."""

    code = "PAGE_BLOCKED"


class LoginRequired(RemoteError):
    """The page is behind a login or a paywall."""

    code = "LOGIN_REQUIRED"


class UnsupportedContentType(RemoteError):
    """The body is of a kind that can't be read as text."""

    code = "UNSUPPORTED_CONTENT_TYPE"


class ParseError(RemoteError):
    """The body can't be parsed as what it says it is."""

    code = "PARSE_ERROR"


class EmptyContent(RemoteError):
    """The page was read but holds no text."""

    code = "EMPTY_CONTENT"


class ArchiveCorrupt(RemoteError):
    """A WARC or WACZ can't be read at all; single bad records are skipped and counted instead."""

    code = "ARCHIVE_CORRUPT"


class ProviderError(PinciteError):
    """An outside service that was asked did not deliver."""


class RateLimited(ProviderError):
    """Too many calls; `retry_after_s` says when to come back where the service said so."""

    code = "RATE_LIMITED"
    default_retryable = True


class SearchProviderUnavailable(ProviderError):
    """No provider could answer; `causes` lists what each one said."""

    code = "SEARCH_PROVIDER_UNAVAILABLE"
    default_retryable = True

    def __init__(self, message: str, *, causes: Mapping[str, PinciteError] | None = None, **kwargs: object) -> None:
        super().__init__(message, **kwargs)  # type: ignore[arg-type]  # same keywords as the root
        self.causes = dict(causes or {})


class ProviderAuth(ProviderError):
    """The key is missing, wrong or not allowed."""

    code = "PROVIDER_AUTH"


class ProviderQuota(ProviderError):
    """The account is out of credit or over its plan."""

    code = "PROVIDER_QUOTA"


class ProviderBadReply(ProviderError):
    """The service answered with something that does not follow its own contract."""

    code = "PROVIDER_BAD_REPLY"
    default_retryable = True


class ModelUnavailable(ProviderError):
    """The language model can't be reached or refused the call."""

    code = "MODEL_UNAVAILABLE"
    default_retryable = True


class ModelBadOutput(ProviderError):
    """The language model's answer could not be used after all repairs."""

    code = "MODEL_BAD_OUTPUT"


class BudgetExhausted(PinciteError):
    """A cap is reached; `reason` names it (searches, pages, cost_usd, deadline, ...)."""

    code = "BUDGET_EXHAUSTED"
    default_hint = "Raise the cap, or use a smaller --profile."


class EvidenceError(PinciteError):
    """The evidence does not carry what was asked of it."""


class CoverageNotMet(EvidenceError):
    """Fewer parts of the question are answered than the caller required; the smaller report is stored and attached."""

    code = "COVERAGE_NOT_MET"
    default_hint = "Raise max_rounds or add sources; the smaller report is kept under the run."
    report: object = None
    """The `Report`; errors are below reports in the layers, so its type can't be named here."""


class InsufficientEvidence(EvidenceError):
    """No passage was found that surely answers the question."""

    code = "INSUFFICIENT_EVIDENCE"


class QuoteMismatch(EvidenceError):
    """A stored quote is not what stands at its place in the stored document."""

    code = "QUOTE_MISMATCH"


class StateError(PinciteError):
    """What is stored does not fit the request."""


class RunNotFound(StateError):
    """There is no run with this id here."""

    code = "RUN_NOT_FOUND"
    default_hint = "pincite runs list shows the runs of this home; pincite research makes one."


class RunCancelled(StateError):
    """The run was cancelled; what was paid for is kept."""

    code = "RUN_CANCELLED"


class RunFenced(StateError):
    """This process stood still (suspended, frozen) and another one took over its run: the result is there."""

    code = "RUN_FENCED"
    default_hint = "Nothing is lost or paid twice: pincite runs show RUN"


class StorageUnavailable(StateError):
    """The database or the home folder can't be opened or written."""

    code = "STORAGE_UNAVAILABLE"
    default_hint = "Check that the home folder is writable, or set PINCITE_HOME to one that is."


class StorageFull(StateError):
    """No space left; what was stored before is intact."""

    code = "STORAGE_FULL"
    default_hint = "Free some space (pincite cache clear), then: pincite runs resume RUN"


class SchemaMismatch(StateError):
    """The database was written by a newer Pincite, or a migration is incomplete."""

    code = "SCHEMA_MISMATCH"
    default_hint = "Upgrade Pincite, or set PINCITE_HOME to another folder."


class Locked(StateError):
    """Another process holds what is needed."""

    code = "LOCKED"
    default_retryable = True


class TooManyOpenFiles(StateError):
    """The process may not open another file or connection; the message names its limit."""

    code = "TOO_MANY_OPEN_FILES"
    default_reason = "open_files"
    default_hint = (
        "Raise the limit (ulimit -n 4096, LimitNOFILE= in systemd, --ulimit nofile= in Docker), then try again."
    )
    default_retryable = True


class Internal(PinciteError):
    """A defect in Pincite; please report it."""

    code = "INTERNAL"
    default_hint = "This is a defect in Pincite: please report it with the run id."


def leaves(root: type[PinciteError] = PinciteError) -> Iterator[type[PinciteError]]:
    """Every class that carries a code of its own, in source order."""
    for child in root.__subclasses__():
        if "code" in child.__dict__:
            yield child
        yield from leaves(child)
