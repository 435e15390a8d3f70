"""What a check finds wrong, or could not look at, and where."""

from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """Whether something is wrong, or could not be looked at."""

    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong and where: `where` is a path in the report JSON, for instance `claims[2].evidence[0]`."""

    kind: ProblemKind
    where: str
    what: str


def failed(where: str, what: str) -> Problem:
    """Something that is wrong."""
    return Problem(ProblemKind.FAILED, where, what)


def unchecked(where: str, what: str) -> Problem:
    """Something that could not be looked at."""
    return Problem(ProblemKind.UNCHECKED, where, what)
