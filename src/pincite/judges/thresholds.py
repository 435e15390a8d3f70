"""The thresholds of judges, in one file of the home: what was measured, of which judge, on what."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pincite.domain.errors import InvalidSetting
from pincite.domain.evidence import Thresholds

FILE: Final = "judges/thresholds.json"


def read_thresholds(home: Path, name: str) -> Thresholds | None:
    """The thresholds measured for the judge of this name; None without any.

    Errors: InvalidSetting: the file is damaged, or its figures are none.
    """
    found = _all(home / FILE).get(name)
    if found is None:
        return None
    try:
        made = Thresholds(float(found["supported_from"]), float(found["refused_to"]), str(found.get("measured", "")))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(home / FILE, f"{name} has no supported_from and refused_to") from None
    if not 0 <= made.refused_to <= made.supported_from <= 1:
        raise _damaged(home / FILE, f"{name} needs 0 <= refused_to <= supported_from <= 1")
    return made


def write_thresholds(home: Path, name: str, thresholds: Thresholds) -> Path:
    """Keep the thresholds of a judge; the file."""
    path = home / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = _all(path) | {name: asdict(thresholds)}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(path)
    return path


def _all(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise _damaged(path, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _damaged(path, "it is not a table of judges")
    return value


def _damaged(path: Path, why: str) -> InvalidSetting:
    return InvalidSetting(
        f"the thresholds in {path} can't be used: {why}",
        reason="bad_thresholds",
        hint="Measure them again with `pincite eval judge --fit`, or delete the file.",
        context={"setting": "judge"},
    )
