"""The report as one HTML file that works offline: every sentence opens its quote within the stored passage.

Nothing is loaded from anywhere; the policy in its head forbids it. Reading needs no script. Text from outside appears
as text only, and the only links out are the web addresses of references and leads.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as html_escape
from importlib import resources

from pincite.domain.budget import usd_text
from pincite.domain.evidence import CheckOutcome, ContextRole, Proof, Relation, VerdictStatus
from pincite.domain.layout import Sentence, SentenceKind
from pincite.domain.page import BlockKind, Document
from pincite.domain.reasons import plural, reason_text
from pincite.domain.report import Reference, Report, ReportClaim, ReportConflict, ReportEvidence, ReportStatus
from pincite.domain.report_words import (
    ANSWER_HEADING,
    BALANCE_WORD,
    CONFLICTS_HEADING,
    LEAD_ABOUT,
    LEADS_HEADING,
    REFERENCES_HEADING,
    SUPPORT_WORD,
    backing,
    balance_text,
    conflict_text,
    constraints_text,
    counts_text,
    coverage_text,
    day,
    linkable,
    no_answer_text,
    one_line,
    open_heading,
    open_points,
    partial_text,
    question_text,
    sources_text,
    without_controls,
)
from pincite.domain.signs import MARKS, PROOFS, VERDICTS, beyond_text, claim_proof, proofs_used, refusal, sentence_proof
from pincite.exports.html_layout import proof_html, section_html, styled_html
from pincite.exports.passages import Part, passage
from pincite.exports.simple import site

_ASSETS = resources.files("pincite.exports") / "assets"
_PREFORMATTED = frozenset({BlockKind.CODE, BlockKind.TABLE})


class HtmlExporter:
    """The self-contained `report.html`."""

    media_type = "text/html; charset=utf-8"
    title = "Web page"
    about = "one file with every quote, to read and check in a browser, offline"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The page. Passages of documents that aren't at hand are shown as the report carries them."""
        return "\n".join(_Page(report, documents).lines()).encode()


# What an evidence panel is about: the claims of a sentence and how it was proven.
_Shown = tuple[tuple[str, ...], Proof | None, str]


class _Page:
    """One rendering: knows which evidence panel belongs to which sentence. The `Pen` of this page."""

    def __init__(self, report: Report, documents: Mapping[str, Document]) -> None:
        self._report = report
        self._documents = documents
        self._claims = {claim.id: claim for claim in report.claims}
        self._references = {reference.n: reference for reference in report.references}
        groups = dict.fromkeys(_shown(s) for s in report.sentences() if s.kind is SentenceKind.CLAIM)
        self._panels = {shown: f"e{index}" for index, shown in enumerate(groups, 1)}
        self._first_sentence: dict[str, tuple[str, Sentence]] = {}
        self._count = 0

    def lines(self) -> Iterator[str]:
        style = (_ASSETS / "report.css").read_text(encoding="utf-8")
        script = (_ASSETS / "report.js").read_text(encoding="utf-8")
        policy = (
            f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
            "base-uri 'none'; form-action 'none'"
        )
        report = self._report
        yield "<!doctype html>"
        yield f'<html lang="{_text(report.constraints.language or "en")}">'
        yield "<head>"
        yield '<meta charset="utf-8">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<meta name="referrer" content="no-referrer">'
        yield '<meta name="generator" content="Pincite">'
        yield f'<meta name="dcterms.created" content="{day(report.created_at)}">'
        yield f"<title>{_text(report.title or report.question)}</title>"
        yield f"<style>{style}</style>"
        yield "</head>"
        yield "<body>"
        yield '<a class="skip" href="#report">To the report</a>'
        yield '<main id="report">'
        yield from self._head()
        yield from self._body()
        yield from self._sources()
        yield from self._appendix()
        yield "</main>"
        yield from self._evidence()
        yield f"<script>{script}</script>"
        yield "</body>"
        yield "</html>"
        yield ""

    def _head(self) -> Iterator[str]:
        report = self._report
        yield f'<h1 dir="auto">{_text(report.title or report.question)}</h1>'
        if question := question_text(report):
            yield f'<p dir="auto">{_text(question)}</p>'
        about = (day(report.created_at), counts_text(report), constraints_text(report.constraints))
        yield f'<p class="about">{" · ".join(_text(part) for part in about if part)}</p>'
        if report.notes:
            yield f'<p class="about" dir="auto">{_text(" ".join(report.notes))}</p>'
        balance = balance_text(report)
        if balance:
            yield f'<p class="about">{BALANCE_WORD}: {_text(balance)}</p>'
        if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
            head, _, rest = no_answer_text(report).removeprefix("**").partition("**")
            yield f'<p class="notice"><strong>{head}</strong>{rest}</p>'
        elif report.status is ReportStatus.PARTIAL:
            yield f'<p class="notice">{partial_text(report).strip("*")}</p>'
        if report.claims:
            yield '<p class="hint">Choose a sentence to see the passage it rests on. '
            yield '<span class="keys">Keys: j next, k previous, Enter open, Esc close.</span></p>'
        legend = [f'<span class="proof">{s.shape}</span> {s.word}: {s.means}' for s in proofs_used(report)]
        if legend:
            yield f'<p class="about legend">{" · ".join(legend)}</p>'

    def _body(self) -> Iterator[str]:
        report = self._report
        if report.summary.sentences:
            yield f"<h2>{ANSWER_HEADING}</h2>"
            words = " ".join(self.words(s) + self.after(s) for s in report.summary.sentences)
            yield f'<p dir="auto">{words}</p>'
        for section in report.sections:
            yield f'<h2 dir="auto">{_text(section.heading)}</h2>'
            yield from section_html(section, self)
        if report.listed_conflicts():
            yield f"<h2>{CONFLICTS_HEADING}</h2>"
            for conflict in report.listed_conflicts():
                yield from self._conflict(conflict)
        points = open_points(report)
        if points:
            yield f"<h2>{open_heading(report)}</h2>"
            yield "<ul>"
            for point in points:
                searched = f'<br><span class="detail">{_text(point.searched)}</span>' if point.searched else ""
                yield f'<li dir="auto">{_text(point.line)}{searched}</li>'
            yield "</ul>"
        if report.leads:
            yield f"<h2>{LEADS_HEADING}</h2>"
            yield "<ul>"
            for lead in report.leads:
                reason = f" ({_text(reason_text(lead.reason))})" if lead.reason else ""
                about = f'<br><span class="detail">{LEAD_ABOUT}: {_text(lead.about)} (not read)</span>'
                yield f'<li dir="auto">{_link(lead.url, lead.title or lead.url)}{reason}{about * bool(lead.about)}</li>'
            yield "</ul>"

    def words(self, sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False) -> str:
        """The words as a link to the panel with their passages."""
        panel = self._panels.get(_shown(sentence)) if sentence.claim_ids else None
        said = styled_html(sentence, span)
        if panel is None:
            return said
        self._count += 1
        own = f"s{self._count}"
        self._first_sentence.setdefault(panel, (own, sentence))
        claims = [self._claims[claim_id] for claim_id in sentence.claim_ids]
        kind = "partial" if any(claim.verdict is VerdictStatus.PARTIAL for claim in claims) else "supported"
        return f'<a class="sentence {kind}" id="{own}" href="#{panel}" title="{self._card(claims)}">{said}</a>'

    def after(self, sentence: Sentence, *, bare: bool = False) -> str:
        """The proof mark, and the numbers that lead to the references."""
        return proof_html(sentence) + ("" if bare or not sentence.references else self._marks(sentence.references))

    def numbers(self, sentences: Sequence[Sentence]) -> str:
        """The numbers of several sentences, each once."""
        cited = sorted({n for sentence in sentences for n in sentence.references})
        return self._marks(cited) if cited else ""

    def cited(self, numbers: Sequence[int]) -> tuple[str, str]:
        """The title of the first reference, and the numbers of all as links to them."""
        return self._references[numbers[0]].title, self._marks(numbers)

    def _card(self, claims: Iterable[ReportClaim]) -> str:
        """What hovering shows: verdict, then the first passage with its site and date."""
        for claim in claims:
            for evidence in claim.evidence:
                reference = self._references.get(evidence.reference_n or 0)
                if evidence.relation is Relation.SUPPORTS and reference:
                    where = f"{site(reference.url) or reference.url}, accessed {day(reference.accessed_at)}"
                    return _text(f"{' '.join(VERDICTS[claim.verdict])}: “{evidence.quote}” ({where})")
        return ""

    def _marks(self, numbers: Iterable[int]) -> str:
        return "<sup>" + " ".join(f'<a href="#r{n}" aria-label="Source {n}">[{n}]</a>' for n in numbers) + "</sup>"

    def _conflict(self, conflict: ReportConflict) -> Iterator[str]:
        yield f'<p dir="auto">{_text(conflict_text(conflict))}</p>'
        yield "<ul>"
        for side in conflict.sides:
            sources, numbers = backing(side, self._report)
            marks = self._marks(numbers) if numbers else ""
            yield f'<li dir="auto">{_text(f"{side.statement} {sources}")}{marks}</li>'
        yield "</ul>"

    def _sources(self) -> Iterator[str]:
        if not self._references:
            return
        resting = dict.fromkeys(self._references, 0)
        for claim in self._report.claims:
            for n in {e.reference_n for e in claim.evidence if e.relation is not Relation.CONTRADICTS}:
                if n in resting:
                    resting[n] += 1
        support = coverage_text(self._report.coverage, self._report.notes)
        if support:
            yield f'<p class="detail">{SUPPORT_WORD}: {_text(support)}</p>'
        yield f"<h2>{REFERENCES_HEADING}</h2>"
        yield '<ol class="references">'
        for n, reference in self._references.items():
            yield f'<li id="r{n}" dir="auto"><span class="number">[{n}]</span> {_link(reference.url, reference.title)}'
            yield f'<br><span class="where">{_where(reference)} · {plural(resting[n], "statement")}</span></li>'
        yield "</ol>"

    def _appendix(self) -> Iterator[str]:
        report = self._report
        rejected = report.rejected_claims
        if rejected:
            yield f"<details><summary>Considered and rejected ({len(rejected)})</summary><ul>"
            for claim in rejected:
                yield f'<li dir="auto">{_text(claim.text)} {_badge(claim.verdict)} {_text(refusal(claim))}</li>'
            yield "</ul></details>"
        m = report.metrics
        asked = m.cache_hits + m.cache_misses
        rows = (
            ("Run", report.run_id),
            ("Profile", report.profile),
            ("Written by", {"extractive": "rules, without a language model"}.get(report.mode, f"{report.mode} stages")),
            ("Searches", str(m.searches)),
            ("Pages read", str(m.pages_fetched)),
            (
                "Pages not read",
                f"{m.pages_failed} failed, {m.dead_links} dead, {m.robots_disallowed} refused by robots",
            ),
            ("Statements", f"{m.claims_total} kept of {m.claims_checked} checked"),
            ("Cost", f"{usd_text(m.cost_usd)}, {m.tokens_in + m.tokens_out} tokens"),
            ("From the cache", f"{m.cache_hits} of {asked} searches and pages" if asked else ""),
            ("Time", f"{m.duration_s:.1f} s"),
        )
        yield "<details><summary>How this was made</summary><table>"
        yield from (f'<tr><th scope="row">{name}</th><td>{_text(value)}</td></tr>' for name, value in rows if value)
        yield "</table></details>"

    def _evidence(self) -> Iterator[str]:
        if not self._panels:
            return
        yield '<aside class="evidence" aria-label="Evidence">'
        yield "<h2>Evidence</h2>"
        for (claim_ids, _, _), panel in self._panels.items():
            own, sentence = self._first_sentence[panel]
            yield f'<section class="panel" id="{panel}" tabindex="-1" aria-labelledby="{panel}h">'
            yield f'<header><h3 id="{panel}h" dir="auto">{_text(sentence.text)}</h3>'
            yield f'<a class="close" href="#{own}">Close</a></header>'
            if sentence.proof is not None:
                shape = f'<span class="proof {sentence.proof}" aria-hidden="true">{PROOFS[sentence.proof].shape}</span>'
                yield f'<p class="detail">{shape} {_text(sentence_proof(sentence, self._report))}</p>'
            for claim_id in claim_ids:
                yield from self._claim(self._claims[claim_id], sentence)
            yield "</section>"
        yield "</aside>"

    def _claim(self, claim: ReportClaim, sentence: Sentence) -> Iterator[str]:
        if one_line(claim.text) not in one_line(sentence.text):
            yield f'<p dir="auto">{_text(claim.text)}</p>'
        marks = "".join(f" · {MARKS[mark]}" for mark in claim.marks)
        detail = f"{claim.type} · {sources_text(claim.independent_sources)} · confidence {claim.confidence:.2f}{marks}"
        proof = _text("; ".join(part for part in (claim_proof(claim), beyond_text(claim)) if part))
        yield f'<p class="detail">{_badge(claim.verdict)} {detail}{f" · {proof}" if proof else ""}</p>'
        notes = [c for c in claim.checks if c.outcome is not CheckOutcome.PASSED and c.detail]
        for check in notes:
            yield f'<p class="detail">{_text(check.name)}: {_text(check.detail)}</p>'
        for evidence in sorted(claim.evidence, key=lambda e: e.relation is Relation.CONTRADICTS):
            yield from self._quote(evidence)

    def _quote(self, evidence: ReportEvidence) -> Iterator[str]:
        reference = self._references.get(evidence.reference_n or 0)
        shown = passage(evidence, self._documents.get(evidence.document_id))
        yield f'<article class="{evidence.relation}">'
        if reference:
            yield f'<h4 dir="auto">[{reference.n}] {_text(reference.title or reference.url)}</h4>'
            yield f'<p class="where">{_where(reference)}</p>'
        else:
            yield f"<h4>{_text(site(evidence.url) or evidence.url)}</h4>"
        if evidence.relation is Relation.CONTRADICTS:
            yield '<p class="detail">This passage says otherwise.</p>'
        if evidence.relation is Relation.CORROBORATES:
            yield '<p class="detail">A second source: a judge found that this passage says the same.</p>'
        section = shown.section or tuple(c.text for c in evidence.context if c.role is ContextRole.HEADING)
        if section and not any(part.kind is BlockKind.HEADING for part in shown.parts):
            yield f'<p class="where" dir="auto">{_text(" › ".join(section))}</p>'
        yield f'<blockquote class="passage" dir="auto">{"".join(map(_part, shown.parts))}</blockquote>'
        if not shown.stored:
            yield '<p class="detail">The stored page is not at hand; this is the quote as the report carries it.</p>'
        live = evidence.fragment_url or evidence.url
        link = f'<span class="live">{_link(live, "Open the live page")} · </span>' if linkable(live) else ""
        yield f'<p class="detail">{link}characters {evidence.start}–{evidence.end} of the stored text · '
        yield f"{_text(evidence.snapshot_id)}</p>"
        yield "</article>"


def _shown(sentence: Sentence) -> _Shown:
    return sentence.claim_ids, sentence.proof, sentence.judgement


def _part(part: Part) -> str:
    texts = ((p, f"<s>{_block_text(p.text)}</s>" if p.struck else _block_text(p.text)) for p in part.pieces)
    inner = "".join(f"<mark>{text}</mark>" if piece.marked else text for piece, text in texts)
    if part.kind in _PREFORMATTED:
        return f"<pre>{inner}</pre>"
    name = ' class="heading"' if part.kind is BlockKind.HEADING else ""
    bullet = "• " if part.kind is BlockKind.LIST_ITEM else ""
    return f"<p{name}>{bullet}{inner}</p>"


def _where(reference: Reference) -> str:
    parts = (
        site(reference.url) or reference.url.removeprefix("local:").split("/", 1)[0],
        reference.author,
        f"published {day(reference.published_at)}" if reference.published_at else "",
        f"accessed {day(reference.accessed_at)}",
        reference.note,
    )
    return _text(" · ".join(part for part in parts if part))


def _badge(verdict: VerdictStatus) -> str:
    return f'<span class="badge {verdict}">{" ".join(VERDICTS[verdict])}</span>'


def _link(url: str, text: str) -> str:
    label = _text(text or url)
    if not linkable(url):
        return label
    return f'<a href="{_text(url)}" rel="noopener noreferrer nofollow">{label}</a>'


def _text(text: str) -> str:
    return html_escape(one_line(text))


def _block_text(text: str) -> str:
    return html_escape(without_controls(text))


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
