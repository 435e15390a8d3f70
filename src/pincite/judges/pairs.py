"""What judges of pairs (premise, hypothesis) are shown of a case, and what their probability means."""

import math
from typing import Final

from pincite.domain.evidence import INSIDE, ContextRole, JudgeCase, Judgement, JudgementLabel, Thresholds

# About 350 tokens: with the statement it fits the 512 of cross-encoders. Longer evidence is judged in pieces.
PREMISE_CHARS: Final = 1_400
# About 100 tokens of titles and headings: what is left of the window is for the passage.
HEADER_CHARS: Final = 400
# Each is a pass of the model: a bound on the time of one statement, however long its evidence is.
MOST_PREMISES: Final = 12
_NAMING: Final = frozenset(set(ContextRole) - INSIDE - {ContextRole.AROUND, ContextRole.PREMISE})
# Where a judge without measured thresholds leans from refusing to stating.
_EVEN: Final = 0.5


def premises_of(case: JudgeCase, *, chars: int = PREMISE_CHARS) -> tuple[str, ...]:
    """The evidence as texts of at most so many characters: what names it (title, headings, ...), then its sentences.

    Nothing of a sentence is cut unless it alone is longer than that. No text for a case without evidence.
    """
    header = ""
    for line in case.lines:
        if line.role in _NAMING:
            piece = f"{line.text.rstrip()}{'' if line.text.rstrip()[-1:] in '.:!?' else '.'} "
            if len(header) + len(piece) <= HEADER_CHARS:
                header += piece
    room = chars - len(header)
    pieces: list[str] = []
    for line in case.lines:
        if line.role not in _NAMING and line.role not in INSIDE:
            if pieces and len(pieces[-1]) + len(line.text) < room:
                pieces[-1] += f" {line.text}"
            else:
                pieces.append(line.text[:room])
    return tuple(f"{header}{piece}".strip() for piece in pieces[:MOST_PREMISES])


def judgement_of(
    case: JudgeCase, states: float, thresholds: Thresholds | None, *, contradicts: float = 0.0
) -> Judgement | None:
    """A probability that the evidence states the statement, as a judgement; None when it is none."""
    if not (math.isfinite(states) and 0 <= states <= 1):
        return None
    stated = states >= (thresholds.supported_from if thresholds is not None else _EVEN)
    refused = JudgementLabel.CONTRADICTS if contradicts > max(states, _EVEN) else JudgementLabel.ABSENT
    label = JudgementLabel.STATES if stated else refused
    return Judgement(case.case_id, label, states)
