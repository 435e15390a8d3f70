"""Edits of a report by somebody who makes every hash anew, each with what `check` must say of it.

`refreshed` renders the Markdown again, as a forger would; tests/unit/audit/test_forgers_kit.py applies them all.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.proven_report import proven_report

from pincite.audit.check import CheckStatus
from pincite.domain.codec import from_json
from pincite.domain.errors import PinciteError
from pincite.domain.evidence import RecordedJudgement, evidence_sha256
from pincite.domain.ids import judgement_id, statement_sha256
from pincite.domain.markdown import render_markdown
from pincite.domain.report import Report, ReportClaim, evidence_of
from pincite.domain.statements import ONE_SOURCE_NOTE
from pincite.exports.codec import dump_report

SAMPLE = proven_report()
RAW: dict[str, Any] = json.loads(dump_report(SAMPLE.report))
FAILED, UNCHECKED, PASSED = CheckStatus.FAILED, CheckStatus.UNCHECKED, CheckStatus.PASSED
TAKES, OFTEN, REMOVES, OTHER, ROW, CODE, KEEPER = range(7)
"""The claims of the report."""
TEXT = str(RAW["claims"][TAKES]["text"])
Raw = dict[str, Any]
Edit = Callable[[Raw], object]


def refreshed(raw: Raw) -> Raw:
    """The report with its Markdown rendered from its parts, as far as these still make a report."""
    try:
        report = from_json(Report, raw)
    except PinciteError:
        return raw
    return {**raw, "markdown": render_markdown(report)}


def sentences(raw: Raw) -> list[Raw]:
    found: list[Raw] = [*raw["summary"]["sentences"]]
    return found + [s for section in raw["sections"] for s in section["sentences"]]


def say(raw: Raw, before: str, after: str, *, judged: bool = False, claims: bool = True) -> None:
    """The words exchanged in sentences (and claims, and conflicts); `judged`: with their judgements made to fit."""
    for part in [*sentences(raw), *(raw["claims"] if claims else [])]:
        if before not in part["text"]:
            continue
        part["text"] = part["text"].replace(before, after)
        if judged and part.get("judgement"):
            part["judgement"] = rejudged(raw, part["judgement"], part["text"].removesuffix(" (partly supported)"))
    for conflict in raw["conflicts"] if claims else []:
        for side in conflict["sides"]:
            side["statement"] = side["statement"].replace(before, after)


def rejudged(raw: Raw, name: str, text: str, **members: Any) -> str:
    """The id of a judgement after the record was made to fit another text."""
    for entry in raw["judgements"]:
        if name in (entry["id"], entry.get("was")):
            entry.setdefault("was", entry["id"])
            entry |= {"statement_sha256": statement_sha256(text), **members}
            entry["id"] = remade(entry)
            return str(entry["id"])
    raise AssertionError(name)


def remade(entry: Raw) -> str:
    read = from_json(RecordedJudgement, {name: value for name, value in entry.items() if name != "was"})
    return judgement_id(read.judge, read.statement_sha256, read.evidence_sha256, read.label, read.beyond)


def relabelled(raw: Raw, claim: int, **members: Any) -> None:
    """The judgement of a claim with other members and its id made anew, named wherever it was."""
    old = raw["claims"][claim]["judgement"]
    entry = next(e for e in raw["judgements"] if e["id"] == old)
    entry |= members
    entry["id"] = remade(entry)
    for part in [*sentences(raw), *raw["claims"]]:
        if part.get("judgement") == old:
            part["judgement"] = entry["id"]


def unpartial(raw: Raw) -> None:
    """The partial claim and its sentence made whole."""
    raw["claims"][KEEPER] |= {"verdict": "supported", "beyond": ""}
    for sentence in sentences(raw):
        sentence["text"] = sentence["text"].removesuffix(" (partly supported)")


def put(*path: str | int, to: object) -> Edit:
    def edit(raw: Raw) -> None:
        part: Any = raw
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to

    return edit


def words(before: str, after: str, **options: bool) -> Edit:
    return lambda raw: say(raw, before, after, **options)


def added_sentence(**members: Any) -> Edit:
    def edit(raw: Raw) -> None:
        section = raw["sections"][1]
        section["sentences"].append({"text": "", "kind": "connective", "claim_ids": [], "references": [], **members})

    return edit


def without_proofs(raw: Raw) -> None:
    """As a report of schema 1: no word on how anything was proven."""
    raw["schema_version"], raw["judgements"] = 1, []
    for part in [*sentences(raw), *raw["claims"]]:
        part |= {"proof": None, "judgement": ""} | ({"judge": "", "likelihood": None} if "judge" in part else {})


def swapped(raw: Raw) -> None:
    first, second = raw["summary"]["sentences"]
    first["judgement"], second["judgement"] = second["judgement"], first["judgement"]


def twice(raw: Raw) -> None:
    raw["judgements"].append(copy.deepcopy(raw["judgements"][0]))


def other_heading(raw: Raw) -> None:
    """A passage put under another heading of its page, its judgement made to fit."""
    item = raw["claims"][OFTEN]["evidence"][0]
    start = SAMPLE.documents[item["document_id"]].text.index("Settings")
    for piece in item["context"]:
        if piece["role"] == "heading":
            piece |= {"text": "Settings", "start": start, "end": start + len("Settings")}
    shown = evidence_sha256(evidence_of([from_json(ReportClaim, raw["claims"][OFTEN])]))
    relabelled(raw, OFTEN, evidence_sha256=shown)


def first_context(**members: Any) -> Edit:
    return lambda raw: raw["claims"][REMOVES]["evidence"][0]["context"][0].update(members)


@dataclass(frozen=True)
class Forgery:
    name: str
    edit: Edit
    where: str
    what: str
    status: CheckStatus = FAILED


def called_quoted(raw: Raw) -> None:
    for part in (raw["claims"][TAKES], *sentences(raw)):
        if part["text"] == TEXT:
            part |= {"proof": "quoted", "judgement": ""}


def headed(text: str) -> Edit:
    def edit(raw: Raw) -> None:
        raw["sections"][1]["heading"] = raw["outline"][1] = text

    return edit


def whole_and_judged(raw: Raw) -> None:
    unpartial(raw)
    relabelled(raw, KEEPER, label="states", beyond="")


SECTION = ("sections", 0, "sentences")
FORGERIES = (
    # a sentence and its line of the Markdown
    Forgery(
        "quoted: another verb in the sentence",
        words("removes", "keeps", claims=False),
        "sections[0].sentences[1].text",
        "not in its sources' own words",
    ),
    Forgery(
        "quoted: another verb in claim and sentence",
        words("removes", "keeps"),
        "claims[2].text",
        "not in its sources' own words",
    ),
    Forgery("quoted: a word added", words("removes dead", "never removes dead"), "claims[2].text", "own words"),
    Forgery("quoted: a word dropped", words("removes dead rows", "removes rows"), "claims[2].text", "own words"),
    Forgery("quoted: a figure", words("takes 96 MB", "takes 69 MB"), "claims[3].text", "own words"),
    Forgery(
        "entailed: another verb in the sentence",
        words("needs 64", "loses 64", claims=False),
        "summary.sentences[0].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "entailed: another verb in claim and sentence",
        words("needs 64", "loses 64"),
        "claims[0].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "entailed: one letter",
        words("64 megabytes", "64 megabyte"),
        "summary.sentences[0].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "can becomes can never",
        words("can stop", "can never stop"),
        "claims[6].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "every becomes almost every",
        words("every half", "almost every half"),
        "claims[1].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "derived: more becomes less",
        words("more than the manual", "less than the manual"),
        "sections[0].sentences[5].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "a cell of a table",
        put(*SECTION, 6, "text", to="96 MB"),
        "sections[0].sentences[6].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "the name of a row",
        put("sections", 0, "blocks", 2, "rows", to=["vacuum_pause"]),
        "sections[0].sentences[6].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "the name of a column",
        put("sections", 0, "blocks", 2, "header", to=["Setting", "maximum"]),
        "sections[0].sentences[6].text",
        "is not the sentence that was judged",
    ),
    # exact facts, with the judgement made to fit
    Forgery(
        "figures exchanged, judged",
        words("64 megabytes", "46 megabytes", judged=True),
        "claims[0].text",
        "46 megabytes",
    ),
    Forgery("the unit, judged", words("64 megabytes", "64 gigabytes", judged=True), "claims[0].text", "64 gigabytes"),
    Forgery(
        "a figure of another passage of the page, judged",
        words("every half an hour", "every 64 hours", judged=True),
        "claims[1].text",
        "64 hours",
    ),
    Forgery(
        "an invented date, judged",
        words("every half an hour", "since 3 May 2019", judged=True),
        "claims[1].text",
        "3 May 2019",
    ),
    Forgery(
        "a derived figure, judged",
        words("32 MB more", "23 MB more", judged=True),
        "sections[0].sentences[5].text",
        "23 MB",
    ),
    Forgery(
        "an identifier, judged", words("halden_stop at", "halden_kill at", judged=True), "claims[6].text", "halden_kill"
    ),
    # sentences that cite nothing
    Forgery(
        "a fact as a connective",
        added_sentence(text="The store was withdrawn."),
        "sections[1].sentences[1].text",
        "nobody judged that it states nothing",
    ),
    Forgery(
        "a denial of small words",
        added_sentence(text="This is not so."),
        "sections[1].sentences[1].text",
        "nobody judged that it states nothing",
    ),
    Forgery(
        "a judged connective with other words",
        words("The following is about memory", "The vacuum is not needed"),
        "sections[0].sentences[2].text",
        "is not the sentence that was judged",
    ),
    Forgery(
        "a connective with an identifier, judged",
        words("about memory", "about halden_kill", judged=True),
        "sections[0].sentences[2].text",
        "cites nothing and states halden_kill",
    ),
    Forgery(
        "a connective with the judgement of a claim",
        added_sentence(text=TEXT, judgement=RAW["claims"][TAKES]["judgement"]),
        "sections[1].sentences[1]",
        "",
    ),
    Forgery(
        "a connective with a judgement that is not there",
        added_sentence(text="Of course.", judgement="jdg_0"),
        "sections[1].sentences[1].judgement",
        "none of the report's judgements",
    ),
    # how it is said to be proven
    Forgery("entailed said to be quoted", called_quoted, "summary.sentences[0].text", "own words"),
    Forgery(
        "no judgement",
        put("summary", "sentences", 0, "judgement", to=""),
        "summary.sentences[0].judgement",
        "none of the report's judgements",
    ),
    Forgery(
        "no proof",
        put("summary", "sentences", 0, "proof", to=None),
        "summary.sentences[0].text",
        "no judgement is on record",
        UNCHECKED,
    ),
    Forgery(
        "a report of schema 1 made of it",
        without_proofs,
        "summary.sentences[0].text",
        "no judgement is on record",
        UNCHECKED,
    ),
    Forgery("judgements exchanged", swapped, "summary.sentences[0].text", "is not the sentence that was judged"),
    Forgery(
        "a premise dropped",
        put(*SECTION, 5, "claim_ids", to=[RAW["claims"][TAKES]["id"]]),
        "sections[0].sentences[5].judgement",
        "its passages are not those that were judged",
    ),
    Forgery(
        "another claim named",
        put("summary", "sentences", 1, "claim_ids", to=[RAW["claims"][KEEPER]["id"]]),
        "summary.sentences[1]",
        "",
    ),
    # the record of judgements
    Forgery("another label", put("judgements", 5, "label", to="states"), "judgements[5]", "make another id"),
    Forgery("another judge", put("judgements", 0, "judge", to="openai:best"), "judgements[0]", "make another id"),
    Forgery(
        "another judge on the claim",
        put("claims", TAKES, "judge", to="openai:best"),
        "claims[0].judge",
        "the record says 'label-judge'",
    ),
    Forgery(
        "a likelihood on the claim",
        put("claims", TAKES, "likelihood", to=0.99),
        "claims[0].likelihood",
        "the record says None",
    ),
    Forgery(
        "an impossible likelihood",
        put("judgements", 0, "likelihood", to=7.0),
        "judgements[0].likelihood",
        "not between 0 and 1",
    ),
    Forgery(
        "judged after it was printed",
        put("judgements", 0, "judged_at", to="2026-11-29T00:00:00Z"),
        "judgements[0].judged_at",
        "later than the report",
    ),
    Forgery("a judgement twice", twice, "judgements[6]", "is there twice"),
    Forgery(
        "a line that is nowhere",
        put("judgements", 0, "lines", to=["The vacuum is perfect."]),
        "claims[0].judgement",
        "rests on a line that is in none of its passages",
    ),
    Forgery(
        "judged absent, printed",
        lambda raw: relabelled(raw, TAKES, label="absent"),
        "claims[0].text",
        "is printed, and the judge said “absent”",
    ),
    Forgery("partly, made whole", unpartial, "claims[6].text", "is printed as supported, and the judge said “partly”"),
    Forgery("the words beyond taken out", put("claims", KEEPER, "beyond", to=""), "claims[6].beyond", "is empty"),
    # evidence in context
    Forgery("a title", first_context(text="The only manual"), "claims[2].evidence[0].context[0]", "neither the title"),
    Forgery(
        "another heading of the page, judged",
        other_heading,
        "claims[1].evidence[0].context",
        "is no heading of the quote",
        UNCHECKED,
    ),
    # layout, marks, labels
    Forgery(
        "a line of code",
        lambda raw: say(raw, "halden_stop --now", "halden_stop --never"),
        "claims[5].text",
        "own words",
    ),
    Forgery(
        "the heading above an excerpt",
        put("sections", 0, "blocks", 3, "excerpt", "path", to=["Deprecated"]),
        "sections[0].blocks[3]",
        "“Deprecated” is no heading of the page",
    ),
    Forgery(
        "the term of an excerpt",
        put("sections", 0, "blocks", 3, "excerpt", "term", to="halden_kill"),
        "sections[0].blocks[3]",
        "is no term of the page",
    ),
    Forgery(
        "the page of an excerpt",
        put("sections", 0, "blocks", 3, "excerpt", "reference_n", to=2),
        "sections[0].blocks[3]",
        "do not rest on [2]",
    ),
    Forgery("a figure in a heading", headed("Why it loses 12 GB"), "sections[1].heading", "12 GB is in no passage"),
    Forgery("a figure in the title", put("title", to="The vacuum of 2031"), "title", "2031 is in no passage"),
    Forgery(
        "a span that is not there",
        put("summary", "sentences", 0, "marked", to=[[3, 999]]),
        "summary.sentences[0].marked",
        "no part of the sentence",
    ),
    Forgery(
        "complete without an answer",
        put("parts", 0, "status", to="partly"),
        "status",
        "a part of the question is not answered",
    ),
    Forgery(
        "a mark left out",
        put("claims", TAKES, "marks", to=["one_source"]),
        "summary.sentences[0].text",
        "is printed without “(one source)”",
    ),
    Forgery(
        "one source for all, where some have two",
        put("notes", to=[ONE_SOURCE_NOTE]),
        "notes",
        "say that no claim has a second source",
    ),
    # sources
    Forgery(
        "more sources",
        put("claims", TAKES, "independent_sources", to=4),
        "claims[0].independent_sources",
        "its evidence is of 1 pages",
    ),
    Forgery("more coverage", put("coverage", "independent", to=7), "coverage", "the claims give 0 of 7"),
    Forgery(
        "the title of a reference",
        put("references", 0, "title", to="Official manual"),
        "references[0].title",
        "is not the title of the page",
    ),
    Forgery(
        "an author", put("references", 0, "author", to="Ada Berg"), "references[0].author", "is not who the page says"
    ),
    Forgery(
        "a day",
        put("references", 1, "published_at", to="2026-11-20T00:00:00Z"),
        "references[1].published_at",
        "is not the day that the page gives",
    ),
    Forgery(
        "the words of a conflict",
        put("conflicts", 0, "wording", to="1 source says 64 MB, 1 says 48 MB"),
        "conflicts[0].wording",
        "48 in no passage of its sides",
    ),
    Forgery(
        "a conflict that a sentence is said to tell",
        put("conflicts", 0, "told", to=True),
        "conflicts[0].wording",
        "is no sentence of the report",
    ),
    Forgery(
        "a side of a conflict",
        put("conflicts", 0, "sides", 1, "statement", to="The vacuum takes no memory."),
        "conflicts[0].sides[1].statement",
        "is none of the claims",
    ),
    Forgery(
        "the sources of a side",
        put("conflicts", 0, "sides", 1, "independent_sources", to=9),
        "conflicts[0].sides[1]",
        "counts 9 sources",
    ),
    Forgery(
        "one source more for a side",
        put("conflicts", 0, "sides", 1, "independent_sources", to=2),
        "conflicts[0].sides[1]",
        "counts 2 sources",
    ),
    Forgery(
        "a statement as the label of a phrase",
        put(*SECTION, 0, "label", to="The vacuum deletes live rows"),
        "sections[0].sentences[0].label",
        "stands before a sentence that cites nothing",
    ),
    Forgery(
        "the words that are not carried",
        put("claims", KEEPER, "beyond", to="at any place"),
        f"claims[{KEEPER}].beyond",
        "the record says 'at any time'",
    ),
    Forgery(
        "one of the two pages that a comparison rests on",
        lambda raw: next(s for s in sentences(raw) if s["references"] == [1, 2]).update(references=[2]),
        "sections[0].sentences[5].references",
        "names no page of",
    ),
    Forgery(
        "a note with a reference",
        put("references", 0, "note", to="date unknown; confirmed by the maker"),
        "references[0].note",
        "is not what the capture says",
        UNCHECKED,
    ),
    Forgery("a member of its own", put("verified_by", to="the maker"), "verified_by", "does not know", UNCHECKED),
    Forgery("a member in a claim", put("claims", 0, "stars", to=5), "claims[0].stars", "does not know", UNCHECKED),
)

# What no check without a judge can see; docs/check.md says so.
SEEN_BY_A_JUDGE_ONLY: dict[str, Edit] = {
    "another verb": words("is run every", "is broken every", judged=True),
    "can never": words("can stop", "can never stop", judged=True),
    "no more partial": whole_and_judged,
}
