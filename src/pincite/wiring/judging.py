"""The checker that the settings ask for: the mechanical checks, with a judge of entailment behind them or without."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.errors import ExtraNotInstalled
from pincite.ports import ClaimChecker, Clock, EntailmentBackend
from pincite.settings import Settings

if TYPE_CHECKING:
    from pincite.judges.guarded import GuardedJudge

_FAILURES = 3


def build_judge(settings: Settings, clock: Clock) -> "GuardedJudge | None":
    """The judge of the settings, or None. Errors: InvalidSetting, ExtraNotInstalled."""
    if settings.entailment is None:
        return None
    from pincite.judges.guarded import GuardedJudge
    from pincite.runtime.breaker import BreakerRules, MemoryBreaker

    return GuardedJudge(_adapter(settings.entailment, settings), MemoryBreaker(clock, BreakerRules(failures=_FAILURES)))


def _adapter(place: str, settings: Settings) -> EntailmentBackend:
    if "://" in place:
        from pincite.judges.http import HttpJudge

        key = settings.entailment_api_key
        return HttpJudge(place, api_key=key.get_secret_value() if key else None)
    from pincite.judges.onnx import INSTALL, OnnxJudge

    judge = OnnxJudge(Path(place).expanduser())
    if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
        raise ExtraNotInstalled("a model for entailment needs onnxruntime and tokenizers", hint=f"Run: {INSTALL}")
    return judge


def checker_with(judge: EntailmentBackend | None) -> ClaimChecker:
    """The mechanical checks, and behind them the judge; with one, for worker threads only."""
    from pincite.verification.checker import MechanicalChecker
    from pincite.verification.judged import JudgedChecker

    checker = MechanicalChecker()
    return checker if judge is None else JudgedChecker(checker, judge)
