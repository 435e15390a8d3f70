"""The judge that the settings ask for, made once for an engine; for a run its answers are on the record.

Also the judges that are fetched by name: what is known, what is here, and how one gets here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from pincite.domain.errors import ExtraNotInstalled, InvalidSetting
from pincite.domain.events import Json
from pincite.domain.evidence import Thresholds
from pincite.domain.frozen import dataclass
from pincite.domain.model import ModelRole
from pincite.judges.catalogue import FOLDER, KNOWN, LOCK, REFUSED, languages_of, read_thresholds
from pincite.ports import Clock, Judge, LanguageModel, Ledger, ModelCalls
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.system import install_extra
from pincite.settings import Settings
from pincite.wiring.models import recorded_models
from pincite.wiring.registry import JUDGES, is_place, load

if TYPE_CHECKING:
    from pincite.judges.wrappers import GuardedJudge


# `Parts.judge()` gives it to whatever calls `verification.proof.prove`: None where nobody judges.

AUTO: Final = "auto"
NONE: Final = "none"
MODEL: Final = "model"
# In a row; after that a judge that is away is not asked for a while, and statements count as unchecked.
_FAILURES: Final = 3
OpenModel = Callable[[Settings], Awaitable[LanguageModel | None]]


@dataclass(frozen=True, slots=True)
class JudgePart:
    """One judge of the settings: a language model (`model`, or the run's own when that is None), or an adapter.

    Attributes:
        name: what reports call it.
        judge: the adapter; None for a language model.
        model: the language model, where it is not the one of the verifier's role.
    """

    name: str
    judge: Judge | None = None
    model: LanguageModel | None = None

    @property
    def record(self) -> dict[str, Json]:
        """What a run must keep so that it can be made again without the judge."""
        limits = self.judge.thresholds if self.judge is not None else None
        kind = "other" if self.judge is not None else "own model" if self.model is not None else "model"
        return {"name": self.name, "kind": kind, "thresholds": None if limits is None else asdict(limits)}


class Judges:
    """The judges of an engine by setting; each is opened once and closed with the engine.

    Args:
        run_model: the language models that serve the roles under given settings.
        open_model: the language models of given settings, whatever serves the roles.
        given: used instead of what the settings name: a fake, or an adapter of your own.
    """

    def __init__(
        self, kept: ResourcePool, clock: Clock, run_model: OpenModel, open_model: OpenModel, given: Judge | None = None
    ) -> None:
        self._kept = kept
        self._clock = clock
        self._run_model = run_model
        self._open_model = open_model
        self._given = given
        self._adapters: dict[str, Judge] = {}
        self._opening = anyio.Lock()

    async def parts(self, settings: Settings) -> tuple[JudgePart, ...]:
        """The judges in the order in which they are asked; none where nobody judges.

        Errors: InvalidSetting (it names no judge, or one that can't be used so), ExtraNotInstalled.
        """
        if self._given is not None:
            return (JudgePart(self._given.name, self._given),)
        names = [name.strip() for name in settings.judge.split(",") if name.strip()]
        if len(names) > 2 or not names:
            raise _bad(f"judge = {settings.judge!r} names {len(names)} judges", "Name one, or LOCAL,MODEL.")
        found = [part for name in names if (part := await self._part(name, settings)) is not None]
        if len(names) == 2:
            _vet_cascade(found, settings.judge)
        return tuple(found)

    async def _part(self, name: str, settings: Settings) -> JudgePart | None:
        if name == NONE:
            return None
        if name in (AUTO, MODEL):
            model = await self._run_model(settings)
            infos = model.info(ModelRole.VERIFIER) if model is not None else ()
            if not infos and name == MODEL:
                raise _bad("judge = 'model', but the verifier has no language model", "Set one: --llm PROVIDER:NAME.")
            return JudgePart(infos[0].name) if infos else None
        if is_place(name) or (settings.home / FOLDER / name).is_dir() or name in JUDGES:
            return JudgePart((adapter := await self._adapter(name, settings)).name, adapter)
        if ":" not in name and not settings.llm_base_url:
            raise _bad(
                f"there is no judge {name!r}",
                "Write model, none, PROVIDER:NAME, http://..., a folder, or a name that `pincite models list` shows "
                "and `pincite models add NAME` fetched.",
            )
        # Without fallbacks: the judge that is named decides, or nobody does.
        own = settings.model_copy(update={"llm": NONE, "llm_roles": {"verifier": name}, "llm_fallbacks": ()})
        model = await self._open_model(own)
        if model is None:
            raise _bad(f"there is no judge {name!r}", "Name a language model as PROVIDER:NAME.")
        return JudgePart(model.info(ModelRole.VERIFIER)[0].name, model=model)

    async def _adapter(self, place: str, settings: Settings) -> Judge:
        async with self._opening:
            if place not in self._adapters:
                made = _adapter(place, settings, self._clock)
                self._adapters[place] = made
                await self._kept.open(aclosing(made))
            return self._adapters[place]


def judge_of(
    parts: Sequence[JudgePart],
    calls: ModelCalls | None,
    calls_over: Callable[[LanguageModel], ModelCalls],
    ledger: Ledger | None,
) -> Judge | None:
    """The judge for one run, or for what belongs to none.

    Args:
        parts: what the settings ask for.
        calls: the run's language models, whose verifier may be the judge.
        calls_over: makes calls to another language model.
        ledger: where the answers of others than language models are kept; None for no run.
    """
    if not parts:
        return None
    from pincite.judges.model import ModelJudge
    from pincite.judges.wrappers import CascadeJudge, RecordedJudge

    made: list[Judge] = []
    for part in parts:
        if part.judge is not None:
            # A language model's calls are on the record already; another judge's answers are put there.
            made.append(part.judge if ledger is None else RecordedJudge(part.judge, ledger))
        elif part.model is not None:
            made.append(ModelJudge(calls_over(part.model), part.name))
        elif calls is not None:
            made.append(ModelJudge(calls, part.name))
    if len(made) == 2:
        return CascadeJudge(made[0], made[1])
    return made[0] if made else None


def parts_on_record(record: Json) -> tuple[JudgePart, ...]:
    """The judges of a run that is made again: none of them can be asked."""
    from pincite.judges.wrappers import AbsentJudge

    found: list[JudgePart] = []
    for row in record if isinstance(record, list) else ():
        if not isinstance(row, Mapping):
            continue
        name, limits = str(row.get("name")), row.get("thresholds")
        thresholds = Thresholds(**limits) if isinstance(limits, dict) else None  # type: ignore[arg-type]  # floats of our own file
        match row.get("kind"):
            case "other":
                found.append(JudgePart(name, AbsentJudge(name, thresholds)))
            case "own model":
                found.append(JudgePart(name, model=recorded_models({str(ModelRole.VERIFIER): [name]})))
            case _:
                found.append(JudgePart(name))
    return tuple(found)


def _vet_cascade(parts: Sequence[JudgePart], setting: str) -> None:
    if len(parts) != 2 or parts[0].judge is None or parts[1].judge is not None:
        raise _bad(f"judge = {setting!r} is no cascade", "The first must be a local judge, the second a model.")
    if parts[0].judge.thresholds is None:
        raise _bad(
            f"{parts[0].name} has no measured thresholds, so that it can't decide what to hand on",
            f"Measure them: pincite eval judge --judge {parts[0].name} --fit",
        )


def _adapter(place: str, settings: Settings, clock: Clock) -> "GuardedJudge":
    from pincite.judges.wrappers import GuardedJudge
    from pincite.runtime.limiter import BreakerRules, MemoryBreaker

    return GuardedJudge(_unguarded(place, settings), MemoryBreaker(clock, BreakerRules(failures=_FAILURES)))


def _unguarded(place: str, settings: Settings) -> Judge:
    if "://" in place:
        from pincite.judges.http import HttpJudge, name_of

        key = settings.judge_api_key
        limits = read_thresholds(settings.home, name_of(place))
        return HttpJudge(place, api_key=key.get_secret_value() if key else None, thresholds=limits)
    if not is_place(place) and not (settings.home / FOLDER / place).is_dir():
        installed: Judge = load(JUDGES, place, "judge")(read_thresholds(settings.home, place))
        return installed
    from pincite.judges.onnx import OnnxJudge

    folder = Path(place).expanduser() if is_place(place) else settings.home / FOLDER / place
    name = folder.resolve().name
    judge = OnnxJudge(folder, name=name, thresholds=read_thresholds(settings.home, name))
    if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
        raise ExtraNotInstalled(
            "a judge on this machine needs onnxruntime and tokenizers", hint=f"Run: {install_extra('entailment')}"
        )
    return judge


def _bad(message: str, hint: str) -> InvalidSetting:
    return InvalidSetting(message, reason="no_judge", hint=hint, context={"setting": "judge"})


def keep_thresholds(settings: Settings, name: str, thresholds: Thresholds) -> None:
    """Note in the home what the probabilities of a judge mean. Errors: InvalidSetting (the file is damaged)."""
    from pincite.judges.catalogue import write_thresholds

    write_thresholds(settings.home, name, thresholds)


async def judge_text(settings: Settings) -> str:
    """Who judges under these settings and what was measured of them, in words; nothing is asked.

    Errors: InvalidSetting, ExtraNotInstalled.
    """
    from pincite.runtime.concurrency import resource_pool
    from pincite.runtime.system import SystemClock
    from pincite.wiring.models import model_chains, wants_models

    async def named(wanted: Settings) -> LanguageModel | None:
        chains = model_chains(wanted) if wants_models(wanted) else {}
        return recorded_models({str(role): [spec.label for spec in chain] for role, chain in chains.items()})

    async with resource_pool() as kept:
        parts = await Judges(kept, SystemClock(), named, named).parts(settings)
        texts = [_part_text(part) for part in parts]
    return ", then ".join(texts) or "none: sentences in their sources' words only"


def _part_text(part: JudgePart) -> str:
    if part.judge is None:
        return f"{part.name} (a language model: its word counts)"
    limits = part.judge.thresholds
    if limits is None:
        return f"{part.name} (not measured: it can only refuse; pincite eval judge --fit)"
    return (
        f"{part.name} (supported from {limits.supported_from:.3f}, refused to {limits.refused_to:.3f}; "
        f"measured: {limits.measured or 'not said on what'})"
    )


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A judge or reranker by name; `measured` is what was measured of it here, `refused` why it can't be had."""

    name: str
    repository: str = ""
    licence: str = ""
    megabytes: int = 0
    languages: tuple[str, ...] = ()
    here: bool = False
    measured: str = ""
    refused: str = ""
    reranks: bool = False


def judge_models(settings: Settings) -> tuple[JudgeModel, ...]:
    """Every judge that is known, or in the home. Errors: InvalidSetting (the thresholds are damaged)."""
    folder = settings.home / FOLDER
    own = (
        sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[:1] != ".")
        if folder.is_dir()
        else []
    )
    found: list[JudgeModel] = []
    for name in dict.fromkeys((*KNOWN, *own)):
        known, limits = KNOWN.get(name), read_thresholds(settings.home, name)
        measured = "" if limits is None else limits.measured
        if known is None:
            found.append(JudgeModel(name, languages=languages_of(folder / name), here=True, measured=measured))
        else:
            here = (folder / name / LOCK).is_file()
            about = (known.repository, known.licence, known.megabytes, known.languages)
            found.append(JudgeModel(name, *about, here, measured, reranks=known.reranks))
    found += [JudgeModel(name, refused=why) for name, why in REFUSED.items()]
    return tuple(found)


async def add_judge_model(
    settings: Settings, name: str, *, revision: str = "", on_progress: Callable[[str], None]
) -> JudgeModel:
    """Fetch a known judge into the home; every file is compared with its hash.

    Errors: InvalidInput (unknown or refused), NotFound, ProviderAuth, ProviderBadReply, TooLarge, NetworkError,
        Timeout.
    """
    from pincite.judges.hub import HUB, ModelHub

    hub = ModelHub(settings.model_hub or HUB)
    await hub.add(name, settings.home / FOLDER, revision=revision, on_progress=on_progress)
    return next(model for model in judge_models(settings) if model.name == name)
