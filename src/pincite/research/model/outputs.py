"""The shapes in which models answer. Ids in them were offered by code; an id that was not is dropped."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One part of the question as the planner sees it."""

    question: str
    heading: str
    kind: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """The parts in reading order."""

    parts: tuple[PlannedPart, ...]


@dataclass(frozen=True, slots=True)
class NewQueries:
    """Further queries for the part with this id."""

    part: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Further queries for open parts."""

    parts: tuple[NewQueries, ...]


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A statement with the ids of the lines that say it, or their exact words."""

    text: str
    part: str
    lines: tuple[str, ...]
    quote: str = ""
    kind: str = "fact"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class PageClaims:
    """What one page says about the question."""

    claims: tuple[FoundClaim, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements that exclude each other."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """The conflicts found."""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class OutlinedSection:
    """A heading and the ids told under it."""

    heading: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The order of a report."""

    answer: tuple[str, ...]
    sections: tuple[OutlinedSection, ...]


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence and the ids of the statements it tells; `derived` when it goes beyond each of them."""

    text: str
    claims: tuple[str, ...]
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The sentences of one part of a report."""

    sentences: tuple[WrittenSentence, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """A new sentence for the one with this id."""

    id: str
    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repairs:
    """New sentences for those that failed."""

    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class LeadNote:
    """What the page with this id seems to be about."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class LeadNotes:
    """A few words for each page that was not read."""

    notes: tuple[LeadNote, ...]


@dataclass(frozen=True, slots=True)
class FilledField:
    """A value for the field with this id and the ids of the statements that say it.

    `rows` tell the rows of a list apart, the outermost list first; `statement` is a sentence that says yes or no.
    """

    id: str
    value: str
    claims: tuple[str, ...]
    rows: tuple[int, ...] = ()
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """The fields that could be filled."""

    fields: tuple[FilledField, ...]
