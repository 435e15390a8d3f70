"""Questions with known answers: asked, scored, and two settings set side by side (`pincite eval FILE`).

A question file has one JSON object a line: `question`; `facts`, a list of what a good report states, each a text or a
list of texts that say the same (`/…/` is a regular expression); none for a question that the sources don't answer.
Scoring is by text alone, so that it needs no model: a fact counts as told where one of its forms stands in what the
report prints, compared without regard to case, kinds of dashes and spaces.
"""

import json
import re
import statistics
import time
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Final

from pincite.domain.errors import InvalidInput, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.report import Report, ReportStatus
from pincite.domain.statements import stated

# What somebody reads before deciding whether a report is worth the rest.
FIRST_WORDS: Final = 120
# Each is a run; beyond that somebody mistook the file. Chosen, not measured.
MAX_QUESTIONS: Final = 2_000
_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212]")


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A question, and the forms of each fact that answers it; no facts: the sources don't answer it."""

    name: str
    text: str
    facts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one question. `error` is the code of what it ended with instead of a report."""

    question: KnownQuestion
    told: int = 0
    told_first: int = 0
    refused: bool = False
    proofs: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    words: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    duration_s: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one setting; shares are None where there was nothing to count."""

    questions: int
    facts_told: float | None
    facts_told_first: float | None
    wrongly_refused: float | None
    unanswerable_seen: float | None
    proofs: Mapping[str, int]
    rejected: int
    median_words: float
    median_s: float
    tokens: int
    cost_usd: Decimal
    errors: Mapping[str, int]


Ask = Callable[[str], Awaitable[Report]]


def read_questions(path: Path | None) -> tuple[KnownQuestion, ...]:
    """The questions of a file; without one those that ship with Pincite, about its bundled library.

    Errors: InvalidInput: no such file, a line that is no question (named by its number), none or too many of them.
    """
    try:
        source = files(__package__).joinpath("questions.jsonl") if path is None else path
        lines = source.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInput(
            f"{path} can't be read: {why}", reason="question_file", hint="Give a file of JSON lines in UTF-8."
        ) from None
    found = [_question(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not 1 <= len(found) <= MAX_QUESTIONS:
        raise InvalidInput(f"{path}: {len(found)} questions; 1 to {MAX_QUESTIONS} are asked", reason="question_file")
    return tuple(found)


def _question(number: int, line: str) -> KnownQuestion:
    try:
        raw = json.loads(line)
        text = raw["question"]
        facts = tuple(tuple([fact] if isinstance(fact, str) else fact) for fact in raw["facts"])
        forms = [form for fact in facts for form in fact]
        if not isinstance(text, str) or not text.strip() or not all(isinstance(form, str) and form for form in forms):
            raise ValueError("question and facts are texts")
        # Compiled here, so that a bad expression is named with its line and not after hours of runs.
        for form in forms:
            _pattern(form)
    except (ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        why = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else error
        raise InvalidInput(
            f"line {number} is no question: {why}",
            reason="question_file",
            hint='Write {"question": "...", "facts": ["...", ["one form", "another form"]]}; '
            '"facts": [] where the sources do not answer it.',
        ) from None
    return KnownQuestion(str(raw.get("id", number)), text, facts)


async def ask_all(
    questions: Sequence[KnownQuestion], ask: Ask, done: Callable[[Answered], None]
) -> tuple[Answered, ...]:
    """Each question asked, one after the other, so that times are comparable. An error of one ends only that one."""
    found = []
    for question in questions:
        start_s = time.monotonic()
        try:
            answered = scored(question, await ask(question.text), time.monotonic() - start_s)
        except PinciteError as error:
            answered = Answered(question, refused=True, duration_s=time.monotonic() - start_s, error=error.code)
        found.append(answered)
        done(answered)
    return tuple(found)


def scored(question: KnownQuestion, report: Report, duration_s: float) -> Answered:
    """What a report told of the facts."""
    sentences = report.sentences()
    words = " ".join(stated(sentence) for sentence in sentences).split()
    printed, first = folded(" ".join(words)), folded(" ".join(words[:FIRST_WORDS]))
    return Answered(
        question,
        told=sum(_mentions(fact, printed) for fact in question.facts),
        told_first=sum(_mentions(fact, first) for fact in question.facts),
        refused=report.status is ReportStatus.INSUFFICIENT_EVIDENCE or not report.claims,
        proofs=Counter(sentence.proof.value for sentence in sentences if sentence.proof is not None),
        rejected=len(report.rejected_claims),
        words=len(words),
        tokens=report.metrics.tokens_in + report.metrics.tokens_out,
        cost_usd=report.metrics.cost_usd,
        duration_s=duration_s,
    )


def figures_of(answers: Sequence[Answered]) -> Figures:
    """The figures over all answers."""
    known = [answer for answer in answers if answer.question.facts]
    unknown = [answer for answer in answers if not answer.question.facts]
    facts = sum(len(answer.question.facts) for answer in known)
    return Figures(
        questions=len(answers),
        facts_told=_share(sum(answer.told for answer in known), facts),
        facts_told_first=_share(sum(answer.told_first for answer in known), facts),
        wrongly_refused=_share(sum(answer.refused for answer in known), len(known)),
        unanswerable_seen=_share(sum(answer.refused for answer in unknown), len(unknown)),
        proofs=sum((Counter(answer.proofs) for answer in answers), Counter[str]()),
        rejected=sum(answer.rejected for answer in answers),
        median_words=statistics.median(answer.words for answer in answers),
        median_s=round(statistics.median(answer.duration_s for answer in answers), 2),
        tokens=sum(answer.tokens for answer in answers),
        cost_usd=sum((answer.cost_usd for answer in answers), Decimal(0)),
        errors=Counter(answer.error for answer in answers if answer.error),
    )


def figures_text(by_setting: Mapping[str, Figures]) -> str:
    """The figures as a table with a column for each setting."""
    rows = [("", *by_setting)]
    rows += [(label, *(value(found) for found in by_setting.values())) for label, value in _ROWS]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def folded(text: str) -> str:
    """The text as it is compared."""
    return " ".join(_DASHES.sub("-", unicodedata.normalize("NFKC", text)).casefold().split())


def _mentions(forms: Iterable[str], printed: str) -> bool:
    return any(_pattern(form).search(printed) for form in forms)


def _pattern(form: str) -> re.Pattern[str]:
    # Two slashes alone are text: an empty expression would be told by any report.
    if len(form) > 2 and form.startswith("/") and form.endswith("/"):
        return re.compile(form[1:-1], re.IGNORECASE)
    # A figure is not told by a longer one: "63" does not stand in "1,630".
    return re.compile(rf"(?<![\w.,]){re.escape(folded(form))}(?!\w|[.,]\d)")


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


_ROWS: Final[tuple[tuple[str, Callable[[Figures], str]], ...]] = (
    ("questions", lambda found: str(found.questions)),
    ("facts told", lambda found: _percent(found.facts_told)),
    (f"facts told in the first {FIRST_WORDS} words", lambda found: _percent(found.facts_told_first)),
    ("answerable, but refused", lambda found: _percent(found.wrongly_refused)),
    ("not answerable, and seen", lambda found: _percent(found.unanswerable_seen)),
    ("sentences by proof", lambda found: ", ".join(f"{n} {proof}" for proof, n in sorted(found.proofs.items())) or "-"),
    ("statements refused", lambda found: str(found.rejected)),
    ("words, median", lambda found: f"{found.median_words:.0f}"),
    ("seconds, median", lambda found: f"{found.median_s:.1f}"),
    ("tokens", lambda found: f"{found.tokens:,}"),
    ("cost", lambda found: f"${found.cost_usd:.4f}"),
    ("errors", lambda found: ", ".join(f"{n} {code}" for code, n in sorted(found.errors.items())) or "none"),
)
