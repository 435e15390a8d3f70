"""The only place that names concrete classes: settings in, a working set of parts out.

`parts` is what an engine works with, over its `stores`; `searching` and `fetching` build the two services below
research; `sources` says where a run looks; `registry` names adapters by text: each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pincite.wiring.models import NullSink, model_names
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.sources import resolve_sources
from pincite.wiring.stores import CacheCleared, CacheStats, Shared, open_shared

if TYPE_CHECKING:
    from pincite.wiring.checking import EvidenceKept, bundle_of_run, check_stored_report, check_with_judge
    from pincite.wiring.judging import keep_thresholds
    from pincite.wiring.run_settings import (
        RunEstimate,
        frozen_settings,
        narrowed,
        requested,
        run_estimate,
        thawed_settings,
    )
    from pincite.wiring.server import DailyBudget, ServerServices

__all__ = [
    "CacheCleared",
    "CacheStats",
    "DailyBudget",
    "EvidenceKept",
    "NullSink",
    "Parts",
    "RunEstimate",
    "ServerServices",
    "Shared",
    "bundle_of_run",
    "check_stored_report",
    "check_with_judge",
    "frozen_settings",
    "keep_thresholds",
    "model_names",
    "narrowed",
    "open_parts",
    "open_shared",
    "requested",
    "resolve_sources",
    "run_estimate",
    "thawed_settings",
]

# Loaded when it is asked for: checking needs all of verification, only servers need what a server keeps, and a page is
# fetched without judges and runs.
_LATE = {
    "EvidenceKept": "checking",
    "bundle_of_run": "checking",
    "check_stored_report": "checking",
    "check_with_judge": "checking",
    "keep_thresholds": "judging",
    "RunEstimate": "run_settings",
    "frozen_settings": "run_settings",
    "narrowed": "run_settings",
    "requested": "run_settings",
    "run_estimate": "run_settings",
    "thawed_settings": "run_settings",
    "DailyBudget": "server",
    "ServerServices": "server",
}


def __getattr__(name: str) -> object:
    """The names of `_LATE`, from their modules."""
    if name in _LATE:
        return getattr(import_module(f"pincite.wiring.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
