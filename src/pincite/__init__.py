"""Deep web research you can check.

The public names of Pincite, imported on first use so that `import pincite` stays light.
"""

from typing import TYPE_CHECKING

from pincite.domain.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from pincite import sync as sync
    from pincite.domain import errors as errors
    from pincite.domain.evidence import Verdict as Verdict
    from pincite.domain.page import Document as Document
    from pincite.domain.page import FetchRequest as FetchRequest
    from pincite.domain.page import FetchResult as FetchResult
    from pincite.domain.report import Report as Report
    from pincite.domain.search import Constraints as Constraints
    from pincite.domain.search import Query as Query
    from pincite.domain.search import SearchResponse as SearchResponse
    from pincite.engine import Engine as Engine
    from pincite.fetch.extractors import extract as extract
    from pincite.fetch.robots import robots_verdict as robots_verdict
    from pincite.urls.keys import url_key as url_key
    from pincite.urls.policy import vet_url as vet_url
    from pincite.verification.checker import check_claim as check_claim

_HOMES: dict[str, tuple[str, str | None]] = {
    "Constraints": ("pincite.domain.search", "Constraints"),
    "Document": ("pincite.domain.page", "Document"),
    "Engine": ("pincite.engine", "Engine"),
    "FetchRequest": ("pincite.domain.page", "FetchRequest"),
    "FetchResult": ("pincite.domain.page", "FetchResult"),
    "Query": ("pincite.domain.search", "Query"),
    "Report": ("pincite.domain.report", "Report"),
    "SearchResponse": ("pincite.domain.search", "SearchResponse"),
    "Verdict": ("pincite.domain.evidence", "Verdict"),
    "check_claim": ("pincite.verification.checker", "check_claim"),
    "errors": ("pincite.domain.errors", None),
    "extract": ("pincite.fetch.extractors", "extract"),
    "sync": ("pincite.sync", None),
    "robots_verdict": ("pincite.fetch.robots", "robots_verdict"),
    "url_key": ("pincite.urls.keys", "url_key"),
    "vet_url": ("pincite.urls.policy", "vet_url"),
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    from importlib import import_module

    module_name, attribute = _HOMES[name]
    module = import_module(module_name)
    value = module if attribute is None else getattr(module, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
