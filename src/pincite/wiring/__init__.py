"""The only place that names concrete classes: settings in, a working set of parts out.

`parts` is what an engine works with, over its `stores`; `searching` and `fetching` build the two services below
research; `sources` says where a run looks; `registry` names adapters by text: each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pincite.wiring.judging import keep_thresholds
from pincite.wiring.models import model_names
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.run_settings import RunEstimate, frozen_settings, narrowed, requested, run_estimate, thawed_settings
from pincite.wiring.server import DailyBudget, ServerServices
from pincite.wiring.shared import Shared, open_shared
from pincite.wiring.sources import resolve_sources
from pincite.wiring.stores import CacheCleared, CacheStats

if TYPE_CHECKING:
    from pincite.wiring.checking import EvidenceKept, bundle_of_run, check_stored_report, check_with_judge

__all__ = [
    "CacheCleared",
    "CacheStats",
    "DailyBudget",
    "EvidenceKept",
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

_LATE = frozenset({"EvidenceKept", "bundle_of_run", "check_stored_report", "check_with_judge"})


def __getattr__(name: str) -> object:
    """What checking needs (all of verification) is loaded by who checks: fetching a page does without it."""
    if name in _LATE:
        return getattr(import_module("pincite.wiring.checking"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
