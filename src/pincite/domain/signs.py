"""Shapes and words for verdicts and proofs, the same wherever a report is shown: nothing rests on colour."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pincite.domain.evidence import Proof, VerdictStatus
from pincite.domain.frozen import dataclass
from pincite.domain.layout import Sentence, Styled, styled
from pincite.domain.quotes import STRUCK_SIGN
from pincite.domain.report import ClaimMark, RejectedClaim, Report, ReportClaim
from pincite.domain.report_words import day, labelled, one_line, without_controls

# What stands between the name of a page and that of its site in a title.
_BETWEEN_PIECES = re.compile(r"\s+[—–|·»-]\s+")

# Shape and word of each verdict.
VERDICTS: Mapping[str, tuple[str, str]] = {
    VerdictStatus.SUPPORTED: ("✓", "supported"),
    VerdictStatus.PARTIAL: ("◐", "partly supported"),
    VerdictStatus.CONTRADICTED: ("≠", "contradicted"),
    VerdictStatus.UNSUPPORTED: ("✕", "not supported"),
    VerdictStatus.UNCHECKED: ("?", "not checked"),
}

# What the marks of a claim mean to a reader.
MARKS: Mapping[str, str] = {
    ClaimMark.LOW_CONFIDENCE: "low confidence",
    ClaimMark.ONE_SOURCE: "fewer sources than wanted",
    ClaimMark.UNRESOLVED: "its site could not be asked again",
}


@dataclass(frozen=True, slots=True)
class ProofSign:
    """How a kind of proof is shown: its shape, its word, and what the word means."""

    shape: str
    word: str
    means: str


PROOFS: Mapping[Proof, ProofSign] = {
    Proof.QUOTED: ProofSign("“”", "quoted", "in its source's own words"),
    Proof.ENTAILED: ProofSign("≈", "entailed", "in other words; a judge found that its passages state it"),
    Proof.DERIVED: ProofSign("∴", "derived", "follows from several proven statements"),
}


def proofs_used(report: Report) -> tuple[ProofSign, ...]:
    """The kinds of proof that occur in a report, for its legend."""
    used = {sentence.proof for sentence in report.sentences()}
    return tuple(sign for proof, sign in PROOFS.items() if proof in used)


def sentence_proof(sentence: Sentence, report: Report) -> str:
    """How a sentence was proven, by whom, when and how surely: "entailed: in other words; …; judged by nli:x …"."""
    if sentence.proof is None:
        return ""
    sign = PROOFS[sentence.proof]
    judgement = next((j for j in report.judgements if sentence.judgement and j.id == sentence.judgement), None)
    parts = [f"{sign.word}: {sign.means}"]
    if judgement is not None:
        sure = "" if judgement.likelihood is None else f", likelihood {judgement.likelihood:.2f}"
        parts.append(f"judged by {judgement.judge} on {day(judgement.judged_at)}{sure}")
    return "; ".join(parts)


def claim_proof(claim: ReportClaim) -> str:
    """How a claim was proven, in few words: "entailed, judged by nli:x, likelihood 0.93"."""
    parts = (
        PROOFS[claim.proof].word if claim.proof is not None else "",
        f"judged by {claim.judge}" if claim.judge else "",
        f"likelihood {claim.likelihood:.2f}" if claim.likelihood is not None else "",
    )
    return ", ".join(part for part in parts if part)


def beyond_text(found: ReportClaim | RejectedClaim) -> str:
    """The words that no passage carries, as a phrase; empty without any."""
    return f"no passage carries: “{found.beyond}”" if found.beyond else ""


def refusal(claim: RejectedClaim) -> str:
    """Why a statement was refused, and which of its words nothing carries."""
    return "; ".join(part for part in (claim.why, beyond_text(claim)) if part)


def styled_pieces(sentence: Sentence, span: tuple[int, int] | None = None) -> Iterator[Styled]:
    """The printed words of a sentence in runs that look alike: telling words, names set as code, what it is about.

    `span` takes only a part of `sentence.text`: a cell of a row that is printed word for word. What is struck looks so
    and needs no signs around it.
    """
    for run in styled(sentence, sentence.text if span else labelled(sentence), span):
        text = run.text.removeprefix(STRUCK_SIGN).removesuffix(STRUCK_SIGN) if run.is_struck else run.text
        yield replace(run, text=without_controls(text))


def title_pieces(title: str) -> tuple[str, ...]:
    """The parts of a page's title: "Process | Node.js documentation" names a page and its site."""
    return tuple(piece.strip() for piece in _BETWEEN_PIECES.split(title) if piece.strip())


def place_of(title: str, path: Sequence[str]) -> str:
    """Where an excerpt stands: the title of its page and the headings above it.

    The title is left out where the first heading repeats it, or is the part of it that names the page.
    """
    parts = [one_line(part) for part in path]
    if parts[:1] and one_line(parts[0]) not in map(one_line, (title, *title_pieces(title))):
        parts.insert(0, one_line(title))
    return " › ".join(part for part in parts or [one_line(title)] if part)
