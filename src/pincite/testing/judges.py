"""Judges that say what they are told."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Thresholds


@dataclass
class LabelJudge:
    """Implements `ports.Judge` by labels: an honest judge with an error rate that is set.

    Attributes:
        labels: what is right for each statement; white space and end marks don't matter.
        errors: the share of statements that it gets wrong, the same ones whenever it is asked.
        beyond: for statements that are partly carried, the words that are not.
        default: what it says of statements that nobody labelled.
        gives_figures: whether it gives a likelihood instead of its word (.99 or .01); then `thresholds` decide.
        alone: what it says where it is asked whether a statement stands alone and answers; None leaves that open.
        seed: chooses other errors.
        asked: every case so far; `calls` counts the batches.
    """

    labels: Mapping[str, JudgementLabel | bool]
    errors: float = 0.0
    beyond: Mapping[str, str] = field(default_factory=dict)
    default: JudgementLabel = JudgementLabel.ABSENT
    gives_figures: bool = False
    thresholds: Thresholds | None = None
    alone: bool | None = True
    name: str = "label-judge"
    seed: int = 0
    asked: list[JudgeCase] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        states, absent = JudgementLabel.STATES, JudgementLabel.ABSENT
        self._labels = {
            _key(text): (states if label else absent) if isinstance(label, bool) else label
            for text, label in self.labels.items()
        }
        self._beyond = {_key(text): words for text, words in self.beyond.items()}

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """The label of each statement, or its opposite for a share of them."""
        self.calls += 1
        self.asked += cases
        return tuple(self._judged(case) for case in cases)

    def _judged(self, case: JudgeCase) -> Judgement:
        key = _key(case.statement)
        label = self._labels.get(key, self.default)
        if self._mistaken(key):
            label = JudgementLabel.ABSENT if label is JudgementLabel.STATES else JudgementLabel.STATES
        states = label is JudgementLabel.STATES
        asked = bool(case.question)
        return Judgement(
            case.case_id,
            label,
            (0.99 if states else 0.01) if self.gives_figures else None,
            tuple(line.line_id for line in case.lines if line.role is None) if states else (),
            self._beyond.get(key, "") if label is JudgementLabel.PARTLY else "",
            self.alone if asked else None,
            states and self.alone if asked and self.alone is not None else None,
        )

    def _mistaken(self, key: str) -> bool:
        # Drawn by the text and not in order: runs side by side make the same errors.
        drawn = hashlib.sha256(f"{self.seed}:{key}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(drawn[:4], "big") / 2**32 < self.errors


class PageReader(LabelJudge):
    """A judge that reads: it finds a statement stated where a line shown to it has the words that it was given for it.

    `tells`: for each statement the words of a page that state it; none for a statement that states nothing. Statements
    that nobody labelled are absent.
    """

    def __init__(self, tells: Mapping[str, str]) -> None:
        super().__init__({})
        self._tells = {_key(statement): words for statement, words in tells.items()}

    def _judged(self, case: JudgeCase) -> Judgement:
        words = self._tells.get(_key(case.statement))
        if words == "":
            return Judgement(case.case_id, JudgementLabel.NOTHING_TO_CHECK)
        lines = tuple(line.line_id for line in case.lines if words is not None and words in line.text)
        return Judgement(case.case_id, JudgementLabel.STATES if lines else JudgementLabel.ABSENT, None, lines)


def _key(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .!?")


@dataclass
class TellTaleJudge:
    """Implements `ports.Judge` for a lying run: it knows which texts are lies and finds everything else stated.

    Attributes:
        lies: whether a statement is a lie.
        errors: the share of statements that it gets wrong, the same ones whenever it is asked.
    """

    lies: Callable[[str], bool]
    errors: float = 0.0
    name: str = "tell-tale"
    thresholds: Thresholds | None = None

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """Absent for a lie, stated for the rest, but for a share of errors."""
        labels = {case.statement: not self.lies(case.statement) for case in cases}
        return await LabelJudge(labels, self.errors).judge(cases)
