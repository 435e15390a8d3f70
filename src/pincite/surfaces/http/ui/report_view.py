"""A report as its pages show it: which passage each mark opens, what rests on each source, how it is plotted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from html import escape
from urllib.parse import quote

from markupsafe import Markup

from pincite.domain.budget import usd_text
from pincite.domain.errors import InvalidUrl
from pincite.domain.evidence import Relation, VerdictStatus
from pincite.domain.frozen import dataclass
from pincite.domain.layout import Section, Sentence
from pincite.domain.reasons import plural
from pincite.domain.records import CallRecord
from pincite.domain.report import Reference, Report, ReportClaim, ReportEvidence
from pincite.domain.report_words import day, one_line, open_points, unsure_points
from pincite.domain.signs import VERDICTS
from pincite.exports.html_layout import proof_html, section_html, styled_html
from pincite.surfaces.http.ui import charts
from pincite.surfaces.http.ui.rendering import seconds, site
from pincite.surfaces.progress import STAGES, Progress
from pincite.text.tokens import terms
from pincite.urls import registrable_domain

# Three lines of a card; the passage itself is a click away.
CARD_CHARS = 240
_LOCAL = "local:"
# What the kinds of outside calls are to a reader; models' roles are named as they are.
CALLS: Mapping[str, str] = {
    "search": "Searches",
    "fetch": "Pages",
    "survey": "Library look-ups",
    "continue": "The earlier run",
    "judge": "Second opinions",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A superscript number: the passage it opens, and what is said of it before."""

    n: int
    key: str
    href: str
    hint: str


@dataclass(frozen=True, slots=True)
class Source:
    """A reference with the claims that rest on it.

    `copy_of` is the address of the page it repeats; `same_site` are the numbers of other sources that count as one
    with it.
    """

    reference: Reference
    claims: tuple[ReportClaim, ...]
    copy_of: str
    same_site: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of what a reader should know before trusting the report: its shape, its look, where it is shown."""

    sign: str
    look: str
    text: str
    tab: str


class ReportView:
    """Look-ups over one report, and the pen its text is written with."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.claims: Mapping[str, ReportClaim] = {claim.id: claim for claim in report.claims}
        self._places = {place: index for claim in report.claims for place, index in _places(claim)}

    def marks(self, sentence: Sentence) -> tuple[Mark, ...]:
        """The numbers after a sentence, each leading to the passage on that page that says most of it."""
        found = []
        for n in sentence.references:
            reference = self.report.reference(n)
            # The first of its claims that rests on this source: a mark leads to one passage, the others are in the
            # claim's list.
            claim_id = next(name for name in sentence.claim_ids if (name, n) in self._places)
            index = self._places[claim_id, n]
            hint = f"{one_line(reference.title)[:80]} ({site(reference.url)})"
            found.append(Mark(n, f"{claim_id}/{index}", self.evidence_href(claim_id, index), hint))
        return tuple(found)

    def evidence_href(self, claim_id: str, index: int = 0) -> str:
        """Where a passage is shown in its page."""
        return f"/runs/{quote(self.report.run_id)}/claims/{quote(claim_id, safe='')}?e={index}#passage"

    def verdict(self, sentence: Sentence) -> str:
        """`partial` when one of its claims is only partly supported."""
        verdicts = {self.claims[claim_id].verdict for claim_id in sentence.claim_ids}
        return VerdictStatus.PARTIAL if VerdictStatus.PARTIAL in verdicts else VerdictStatus.SUPPORTED

    def text_of(self, sentences: Iterable[Sentence]) -> Markup:
        """Sentences one after the other, each leading to its passages."""
        return Markup(" ".join(self.words(s) + self.after(s) for s in sentences))  # noqa: S704  # escaped where written

    def laid_out(self, section: Section) -> Markup:
        """A section as its blocks lay it out."""
        return Markup("\n".join(section_html(section, self)))  # noqa: S704  # escaped where it is written

    def words(self, sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False) -> str:
        """The words of a sentence; where no number follows them they are the link themselves."""
        said = styled_html(sentence, span)
        if not sentence.claim_ids:
            return said
        if not bare:
            return f'<span class="s {self.verdict(sentence)}">{said}</span>'
        # The first of its pages: the words are one link.
        mark = self.marks(sentence)[0]
        link = f'href="{escape(mark.href)}" data-key="{escape(mark.key)}" title="{escape(mark.hint)}"'
        return f'<a class="s cite words {self.verdict(sentence)}" {link}>{said}</a>'

    def after(self, sentence: Sentence, *, bare: bool = False) -> str:
        """The proof mark and the numbers, close up to the last word."""
        proof = proof_html(sentence)
        marks = "" if bare or not sentence.claim_ids else "".join(map(_mark, self.marks(sentence)))
        return f"<sup>\N{WORD JOINER}{proof}{marks}</sup>" if proof or marks else ""

    def numbers(self, sentences: Sequence[Sentence]) -> str:
        """The numbers of several sentences, each once, leading to the passage of the first."""
        found = {mark.n: mark for sentence in reversed(sentences) for mark in self.marks(sentence)}
        return f"<sup>{''.join(_mark(found[n]) for n in sorted(found))}</sup>" if found else ""

    def cited(self, numbers: Sequence[int]) -> tuple[str, str]:
        """The title of the first reference, and the numbers of all as links to them in the list of sources."""
        marks = (f'<a class="number" href="#r{n}" aria-label="Source {n}">[{n}]</a>' for n in numbers)
        return self.report.reference(numbers[0]).title, "".join(marks)

    def glance(self) -> tuple[Finding, ...]:
        """How far to trust the report, in a few lines: what is well supported and what is not."""
        return tuple(_findings(self.report))

    def cards(self) -> dict[str, dict[str, str]]:
        """What hovering over a mark shows, by its key."""
        return {
            f"{claim.id}/{index}": self._card(claim, item)
            for claim in self.report.claims
            for index, item in enumerate(claim.evidence)
        }

    def _card(self, claim: ReportClaim, item: ReportEvidence) -> dict[str, str]:
        known = {reference.n: reference for reference in self.report.references}
        reference = known.get(item.reference_n or 0)
        sign, word = VERDICTS[claim.verdict]
        text = one_line(item.quote)
        dated = "" if reference is None else f"accessed {day(reference.accessed_at)}"
        if reference is not None and reference.published_at:
            dated = f"published {day(reference.published_at)}, {dated}"
        return {
            "title": one_line(reference.title) if reference else "",
            "site": site(item.url),
            "dated": dated,
            "quote": text if len(text) <= CARD_CHARS else text[: CARD_CHARS - 1] + "…",
            "verdict": str(claim.verdict),
            "sign": sign,
            "word": word,
        }

    def sources(self, progress: Progress) -> tuple[Source, ...]:
        """The references with what rests on them."""
        resting: dict[int, list[ReportClaim]] = {}
        for claim in self.report.claims:
            for n in {
                e.reference_n for e in claim.evidence if e.relation is not Relation.CONTRADICTS and e.reference_n
            }:
                resting.setdefault(n, []).append(claim)
        sites: dict[str, list[int]] = {}
        for reference in self.report.references:
            sites.setdefault(_owner(reference), []).append(reference.n)
        found = []
        for reference in self.report.references:
            copy_of = progress.copies.get(reference.url) or progress.copies.get(reference.fetched_url) or ""
            same = tuple(n for n in sites[_owner(reference)] if n != reference.n)
            found.append(Source(reference, tuple(resting.get(reference.n, ())), copy_of, same))
        return tuple(found)


def _mark(mark: Mark) -> str:
    link = f'href="{escape(mark.href)}" data-key="{escape(mark.key)}" title="{escape(mark.hint)}"'
    return f'<a class="cite" {link} aria-label="Source {mark.n}">{mark.n}</a>'


def _findings(report: Report) -> Iterator[Finding]:
    counts = Counter(claim.verdict for claim in report.claims)
    for verdict in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL):
        if counts[verdict]:
            sign, word = VERDICTS[verdict]
            look = "good" if verdict is VerdictStatus.SUPPORTED else "fair"
            yield Finding(sign, look, f"{plural(counts[verdict], 'statement')} {word}", f"claims?verdict={verdict}")
    several = sum(claim.independent_sources > 1 for claim in report.claims)
    if several or (report.claims and report.coverage.wanted_share):
        # Half of them. Chosen, not measured.
        look = "good" if 2 * several >= len(report.claims) else "fair"
        rests = f"{several} of {len(report.claims)}" if several else "None"
        yield Finding("⊕", look, f"{rests} confirmed by a second, independent source", "claims")
    owners = {_owner(reference) for reference in report.references}
    # One reference needs no such remark: everybody sees that it is one.
    if len(owners) == 1 and len(report.references) > 1:
        yield Finding("!", "fair", f"{_all_of(report)} are of one publisher", "sources")
    elif len(owners) > 1 and all(owner.startswith(_LOCAL) for owner in owners):
        yield Finding("!", "fair", f"{_all_of(report)} are local files: who published them is not known", "sources")
    if report.references and not any(reference.published_at for reference in report.references):
        yield Finding("!", "fair", "No source says when it was published", "sources")
    if report.conflicts:
        yield Finding("≠", "bad", f"{plural(len(report.conflicts), 'conflict')} between sources", "conflicts")
    if missing := open_points(report):
        yield Finding("○", "fair", f"{plural(len(missing), 'thing')} we could not find", "gaps")
    elif unsure_points(report):
        yield Finding("○", "fair", "It may not be the whole answer", "gaps")
    if report.rejected_claims:
        left_out = plural(len(report.rejected_claims), "statement") + " checked and left out"
        yield Finding("✕", "soft", left_out, "claims?verdict=rejected")


def _all_of(report: Report) -> str:
    count = len(report.references)
    return "Both sources" if count == 2 else f"All {count} sources"


def _places(claim: ReportClaim) -> Iterator[tuple[tuple[str, int | None], int]]:
    """For each source of a claim the place of its main passage: a heading or a table's head is not what it rests on."""
    said = set(terms(claim.text))
    best: dict[int | None, tuple[int, int]] = {}
    for index, item in enumerate(claim.evidence):
        if item.relation is not Relation.CONTRADICTS:
            shared = len(said & set(terms(item.quote)))
            # Above, not equal: of two that say as much the first.
            if shared > best.get(item.reference_n, (-1, 0))[0]:
                best[item.reference_n] = (shared, index)
    for n, (_, index) in best.items():
        yield (claim.id, n), index


def _owner(reference: Reference) -> str:
    """Who publishes the page: pages of one owner are one independent source. Who wrote a local file is not known."""
    if reference.url.startswith(_LOCAL):
        return reference.url
    try:
        return registrable_domain(reference.url)
    except InvalidUrl:
        return reference.url


def source_timeline(references: Sequence[Reference]) -> charts.Chart | None:
    """The sources by the day they were published, or read where no page says when it was published."""
    dated = [(r.published_at, f"[{r.n}] {one_line(r.title)[:60]}") for r in references if r.published_at]
    undated = len(references) - len(dated)
    # One point is no timeline.
    if len(dated) < 2:
        return None
    says = plural(len(dated), "source") + " by the day of publication"
    says += f"; {undated} without a date." if undated else "."
    return charts.timeline("When the sources are from.", says, dated, ("Published", "Source"))


def independence(claims: Sequence[ReportClaim]) -> charts.Chart | None:
    """How many claims rest on one, two, three ... independent sources."""
    if not claims:
        return None
    # From the fourth on another source says little more, and the chart stays small.
    counts = Counter(min(claim.independent_sources, 4) for claim in claims)
    rows = [
        charts.Bar(
            "4 or more sources" if number == 4 else plural(number, "source"), counts[number], str(counts[number])
        )
        for number in sorted(set(counts) | {1, 2})
    ]
    several = sum(count for number, count in counts.items() if number > 1)
    says = f"{several} of {plural(len(claims), 'claim')} {'rests' if several == 1 else 'rest'} on more than one."
    return charts.bars("Independent sources.", says, rows, ("Independent sources", "Claims"))


def stage_times(progress: Progress) -> charts.Chart | None:
    """How long each stage took."""
    whole = sum(progress.stage_s)
    if not whole:
        return None
    rows = [
        charts.Bar(name.capitalize(), spent, seconds(spent))
        for name, spent in zip(STAGES, progress.stage_s, strict=True)
    ]
    return charts.bars("Time by stage.", f"{seconds(whole)} in all, without pauses.", rows, ("Stage", "Time"))


def call_costs(calls: Sequence[CallRecord]) -> charts.Chart | None:
    """What the outside calls cost, by kind."""
    if not calls:
        return None
    costs: dict[str, Decimal] = {}
    counts: Counter[str] = Counter()
    for call in calls:
        costs[call.kind] = costs.get(call.kind, Decimal(0)) + call.used.cost_usd
        counts[call.kind] += call.tries
    whole = sum(costs.values(), Decimal(0))
    if not whole:
        free = [charts.Bar(CALLS.get(kind, kind), count, f"{count:,}") for kind, count in sorted(counts.items())]
        says = f"{plural(sum(counts.values()), 'call')}, none of them paid."
        return charts.bars("Calls by kind.", says, free, ("Kind", "Calls"))
    rows = [
        charts.Bar(CALLS.get(kind, kind), float(cost), f"{usd_text(cost)} · {plural(counts[kind], 'call')}")
        for kind, cost in sorted(costs.items())
    ]
    return charts.bars("Cost by kind of call.", f"{usd_text(whole)} in all.", rows, ("Calls", "Cost"))
