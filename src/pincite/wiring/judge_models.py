"""Judges that are fetched by name: what is known, what is here, and how one gets here."""

from collections.abc import Callable
from dataclasses import dataclass

from pincite.judges.kept import LOCK, languages_of
from pincite.judges.known import KNOWN, REFUSED
from pincite.judges.thresholds import read_thresholds
from pincite.settings import Settings
from pincite.wiring.judging import FOLDER


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """A judge by name; `measured` is what was measured of it here, if anything, `refused` why it can't be had."""

    name: str
    repository: str = ""
    licence: str = ""
    megabytes: int = 0
    languages: tuple[str, ...] = ()
    here: bool = False
    measured: str = ""
    refused: str = ""


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
            found.append(
                JudgeModel(name, known.repository, known.licence, known.megabytes, known.languages, here, measured)
            )
    found += [JudgeModel(name, refused=why) for name, why in REFUSED.items()]
    return tuple(found)


async def add_judge_model(
    settings: Settings, name: str, *, revision: str = "", told: Callable[[str], None]
) -> JudgeModel:
    """Fetch a known judge into the home; every file is compared with its hash.

    Errors: InvalidInput (unknown or refused), NotFound, ProviderAuth, ProviderBadReply, TooLarge, NetworkError,
        Timeout.
    """
    from pincite.judges.hub import HUB, ModelHub

    hub = ModelHub(settings.model_hub or HUB)
    await hub.add(name, settings.home / FOLDER, revision=revision, told=told)
    return next(model for model in judge_models(settings) if model.name == name)
