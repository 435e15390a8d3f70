"""Deep web research you can check.

The public names of Pincite, imported on first use so that `import pincite` stays light: the engine with every type it
takes or returns, the pure functions, and every error.
"""

from pincite.domain.version import VERSION

__version__ = VERSION

TYPE_CHECKING = False  # as type checkers know it; `typing` would be half of the time that this import takes
if TYPE_CHECKING:
    from pincite import sync as sync
    from pincite.archive import RunView as RunView
    from pincite.audit.findings import Audit as Audit
    from pincite.audit.recheck import Recheck as Recheck
    from pincite.domain import errors as errors
    from pincite.domain.errors import *  # noqa: F403  # each of them is public
    from pincite.domain.events import Event as Event
    from pincite.domain.events import EventType as EventType
    from pincite.domain.events import RunStatus as RunStatus
    from pincite.domain.evidence import JudgeCase as JudgeCase
    from pincite.domain.evidence import Judgement as Judgement
    from pincite.domain.evidence import JudgementLabel as JudgementLabel
    from pincite.domain.evidence import Thresholds as Thresholds
    from pincite.domain.evidence import Verdict as Verdict
    from pincite.domain.excerpts import Excerpts as Excerpts
    from pincite.domain.fetch import FetchRequest as FetchRequest
    from pincite.domain.fetch import FetchResult as FetchResult
    from pincite.domain.fetch import Hosted as Hosted
    from pincite.domain.fetch import Render as Render
    from pincite.domain.page import Document as Document
    from pincite.domain.page import Snapshot as Snapshot
    from pincite.domain.plan import AnswerForm as AnswerForm
    from pincite.domain.plan import ReportDepth as ReportDepth
    from pincite.domain.plan import ReportLength as ReportLength
    from pincite.domain.plan import ReportStyle as ReportStyle
    from pincite.domain.plan import SubQuestion as SubQuestion
    from pincite.domain.records import CallRecord as CallRecord
    from pincite.domain.records import LoggedCall as LoggedCall
    from pincite.domain.records import QueueCounts as QueueCounts
    from pincite.domain.records import RunRecord as RunRecord
    from pincite.domain.report import Report as Report
    from pincite.domain.requests import PlanPart as PlanPart
    from pincite.domain.requests import ResearchRequest as ResearchRequest
    from pincite.domain.requests import SearchRequest as SearchRequest
    from pincite.domain.search import Constraints as Constraints
    from pincite.domain.search import Depth as Depth
    from pincite.domain.search import IndexReport as IndexReport
    from pincite.domain.search import Query as Query
    from pincite.domain.search import SearchResponse as SearchResponse
    from pincite.domain.search import Topic as Topic
    from pincite.engine import Engine as Engine
    from pincite.engine import RunOptions as RunOptions
    from pincite.fetch.extractors import extract as extract
    from pincite.fetch.robots import robots_verdict as robots_verdict
    from pincite.ports import Judge as Judge
    from pincite.ports import LanguageModel as LanguageModel
    from pincite.ports import Ledger as Ledger
    from pincite.research.model.estimate import Estimate as Estimate
    from pincite.research.summary import Summarised as Summarised
    from pincite.search.intent import RetrievalContext as RetrievalContext
    from pincite.search.spending import Spending as Spending
    from pincite.settings import Settings as Settings
    from pincite.settings import load_settings as load_settings
    from pincite.urls.keys import url_key as url_key
    from pincite.urls.policy import vet_url as vet_url
    from pincite.verification.claims import check_claim as check_claim
    from pincite.wiring.run_settings import RunEstimate as RunEstimate
    from pincite.wiring.server import ServerServices as ServerServices
    from pincite.wiring.sharing import Exported as Exported
    from pincite.wiring.sharing import Imported as Imported
    from pincite.wiring.stores import CacheCleared as CacheCleared
    from pincite.wiring.stores import CacheStats as CacheStats
    from pincite.wiring.stores import Shared as Shared

# Names by the module they come from.
_NAMES: dict[str, str] = {
    "pincite.archive": "RunView",
    "pincite.audit.findings": "Audit",
    "pincite.audit.recheck": "Recheck",
    "pincite.domain.records": "CallRecord LoggedCall QueueCounts RunRecord",
    "pincite.domain.errors": (
        "ArchiveCorrupt BlockedAddress BudgetExhausted Conflict CoverageNotMet DeadLink DnsError DomainDenied "
        "EmptyContent EvidenceError ExtraNotInstalled InputError InsufficientEvidence Internal InvalidInput "
        "InvalidSetting InvalidTopic InvalidUrl LibraryNotFound Locked LoginRequired ModelBadOutput "
        "ModelUnavailable NetworkError NotFound PageBlocked ParseError PinciteError PolicyRefusal "
        "ProviderAuth ProviderBadReply ProviderError ProviderQuota QuoteMismatch RateLimited RemoteError "
        "RobotsDisallowed RunCancelled RunFenced RunNotFound SchemaMismatch SearchProviderUnavailable "
        "ShareRefused StateError StorageFull StorageUnavailable Timeout TlsError TooLarge TooManyOpenFiles "
        "TooManyRedirects Unauthorized UnsupportedContentType"
    ),
    "pincite.domain.events": "Event EventType RunStatus",
    "pincite.domain.evidence": "JudgeCase Judgement JudgementLabel Thresholds Verdict",
    "pincite.domain.plan": "AnswerForm ReportDepth ReportLength ReportStyle SubQuestion",
    "pincite.domain.excerpts": "Excerpts",
    "pincite.domain.fetch": "FetchRequest FetchResult Hosted Render",
    "pincite.domain.page": "Document Snapshot",
    "pincite.domain.report": "Report",
    "pincite.domain.requests": "PlanPart ResearchRequest SearchRequest",
    "pincite.domain.search": "Constraints Depth IndexReport Query SearchResponse Topic",
    "pincite.engine": "Engine RunOptions",
    "pincite.fetch.extractors": "extract",
    "pincite.fetch.robots": "robots_verdict",
    "pincite.ports": "Judge LanguageModel Ledger",
    "pincite.research.model.estimate": "Estimate",
    "pincite.research.summary": "Summarised",
    "pincite.search.intent": "RetrievalContext",
    "pincite.search.spending": "Spending",
    "pincite.settings": "Settings load_settings",
    "pincite.urls.keys": "url_key",
    "pincite.urls.policy": "vet_url",
    "pincite.verification.claims": "check_claim",
    "pincite.wiring.run_settings": "RunEstimate",
    "pincite.wiring.server": "ServerServices",
    "pincite.wiring.sharing": "Exported Imported",
    "pincite.wiring.stores": "CacheCleared CacheStats Shared",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {"errors": "pincite.domain.errors", "sync": "pincite.sync"}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name) or _MODULES.get(name)
    if home is None:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(home)
    value = getattr(module, name) if name in _HOMES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
