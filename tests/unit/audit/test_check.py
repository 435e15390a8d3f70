"""Checking a stored report: a sound one passes, and one changed character anywhere that matters is found and named."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.fakes.proven_report import proven_report
from tests.fakes.reports import empty_report

from pincite.audit.check import CheckResult, CheckStatus, check_report
from pincite.audit.printed import differences
from pincite.audit.stored import ProblemKind
from pincite.domain.errors import ParseError, SchemaMismatch, StorageUnavailable
from pincite.domain.excerpts import Excerpts
from pincite.domain.markdown import render_markdown, restyle
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.report import SCHEMA_VERSION, Mode, PartStatus, ReportGap, ReportLead, ReportPart, ReportStatus
from pincite.domain.report_words import NO_ANSWER, PARTIAL_ANSWER, PARTLY_ANSWERED
from pincite.exports.codec import dump_report
from pincite.testing.reports import SampleReport, sample_report

SAMPLE = proven_report()
RAW: dict[str, Any] = json.loads(dump_report(SAMPLE.report))


def flipped(text: str, at: int) -> str:
    old = text[at]
    new = str((int(old) + 1) % 10) if old.isdecimal() else ("y" if old == "x" else "x")
    return text[:at] + new + text[at + 1 :]


def places(part: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(part, dict):
        for name, inner in part.items():
            yield from places(inner, (*path, name))
    elif isinstance(part, list):
        for index, inner in enumerate(part):
            yield from places(inner, (*path, index))
    else:
        yield path, part


def put(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    raw = copy.deepcopy(RAW)
    part: Any = raw
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return raw


def whats(result: CheckResult) -> str:
    return "\n".join(f"{p.kind} {p.where}: {p.what}" for p in result.problems)


def test_a_sound_report_passes() -> None:
    result = check_report(RAW, SAMPLE)
    assert result.status is CheckStatus.PASSED, whats(result)
    assert result.problems == ()
    counts = result.counts
    assert (counts.quotes, counts.documents, counts.snapshots) == (9, 2, 2)
    assert (counts.sentences, counts.claims, counts.references) == (11, 7, 2)
    assert result.proofs == {"quoted": 3, "entailed": 5, "derived": 1}
    assert result.kept == {"full": 2}
    assert [(j.judge, j.sentences, str(j.first.date())) for j in result.judged] == [("label-judge", 7, "2026-11-21")]
    assert check_report(json.loads(dump_report(empty_report())), SAMPLE).status is CheckStatus.PASSED


def test_a_report_that_does_not_say_how_it_was_proven_is_unchecked_where_it_is_not_quoted() -> None:
    old = sample_report()
    raw = json.loads(dump_report(replace(old.report, schema_version=1)))
    result = check_report(raw, old)
    assert result.proofs == {"not recorded": 5}
    found = [p for p in result.problems if p.where.startswith(("claims", "summary")) and p.where.endswith("text")]
    assert [(p.kind, p.where) for p in found] == [(ProblemKind.UNCHECKED, "claims[3].text")]
    assert "no judgement is on record" in found[0].what


def test_both_citation_styles_pass() -> None:
    raw = {**RAW, "markdown": restyle(RAW["markdown"], "[n](citation:n)")}
    assert check_report(raw, SAMPLE).status is CheckStatus.PASSED


UNREAD = replace(SAMPLE.report, leads=(ReportLead("Tower (old)", "https://t.example/", "", "http_404"),))
UNREAD_RAW: dict[str, Any] = json.loads(dump_report(replace(UNREAD, markdown=render_markdown(UNREAD))))
WORDS = "the page does not exist any more"


def said_otherwise(words: str) -> CheckResult:
    markdown = UNREAD_RAW["markdown"]
    assert f"(old) ({WORDS})" in markdown
    return check_report({**UNREAD_RAW, "markdown": markdown.replace(f"(old) ({WORDS})", words)}, SAMPLE)


def test_a_report_of_earlier_words_is_not_called_changed() -> None:
    assert check_report(UNREAD_RAW, SAMPLE).status is CheckStatus.PASSED
    assert said_otherwise("(old) (http_404)").status is CheckStatus.PASSED
    other = said_otherwise("(old) (this page is gone)")
    assert other.status is CheckStatus.UNCHECKED
    assert [problem.where.split(" line")[0] for problem in other.problems] == ["markdown"]
    assert "“this page is gone” are not this version's words for 'http_404'" in whats(other)


def test_a_place_that_was_named_above_each_quotation_from_it_is_no_difference() -> None:
    place, markdown = "> **Halden store manual › Settings** [1]", SAMPLE.report.markdown
    assert markdown.count(f"{place}\n>\n") == 1
    again = markdown.replace(f"{place}\n>\n", f"{place}\n>\n\n{place}\n>\n")
    assert list(differences(replace(SAMPLE.report, markdown=again))) == []
    for other in (again.replace(place, f"{place} and more", 1), again.replace("[1]\n>\n\n>", "[1]\n>\n> More.\n\n>")):
        assert [sure for _, _, sure in differences(replace(SAMPLE.report, markdown=other))] == [True]


def test_a_missing_answer_in_the_words_of_then_is_no_difference() -> None:
    report = replace(empty_report(), gaps=(ReportGap("How tall is it?", "no page could be read", ("tall",)),))
    before = "**Not enough evidence.** Nothing that was read supports an answer, so none is given."
    then = render_markdown(report).replace(NO_ANSWER, before)
    assert then.count(before) == 1
    assert list(differences(replace(report, markdown=then))) == []
    part = ReportPart("How tall is it?", PartStatus.PARTLY, missing="in feet")
    lacking = ReportGap(part.text, "in feet", ())
    partly = replace(SAMPLE.report, parts=(part,), gaps=(lacking,), status=ReportStatus.PARTIAL)
    then = render_markdown(partly).replace(PARTLY_ANSWERED, PARTIAL_ANSWER)
    assert then != render_markdown(partly)
    assert list(differences(replace(partly, markdown=then))) == []
    other = then.replace("supports an answer", "supports no answer")
    assert [sure for _, _, sure in differences(replace(report, markdown=other))] == [True]


def test_queries_are_told_of_what_nothing_was_found_for() -> None:
    part = ReportPart("Who built it?", PartStatus.PARTLY, "who paid for it")
    gap = ReportGap(part.text, "who paid for it", ("tower paid by",))
    none = ReportPart("How heavy is it?", PartStatus.NOT_HERE)
    lacking = ReportGap(none.text, "no sure answer found", ("tower weight",))
    report = replace(SAMPLE.report, parts=(part, none), gaps=(gap, lacking), status=ReportStatus.PARTIAL)
    now = render_markdown(report)
    line = "\n- who paid for it\n"
    assert line in now
    then = now.replace(line, "\n- Who built it? – answered in part: who paid for it\n")
    assert list(differences(replace(report, markdown=then))) == [], "as earlier versions told it"
    assert "tower paid by" not in now, "a reader wants to know what is missing, not how it was looked for"
    assert "searched for: “tower weight”" in now


def test_what_is_missing_says_what_lacks_and_of_which_part_where_nobody_knows_what() -> None:
    part = ReportPart("Who built it?", PartStatus.PARTLY)
    lacking = ReportGap(part.text, "no sure answer found in the pages read", ("tower built by",))
    added = ReportGap("Who paid for it?", "what the owner paid of it; pages only name it", ("tower paid by",))
    report = replace(SAMPLE.report, parts=(part,), gaps=(lacking, added), status=ReportStatus.PARTIAL)
    now = render_markdown(replace(report, mode=Mode.MODEL))
    assert "\n- Who built it? – answered in part\n- what the owner paid of it; pages only name it\n" in now
    assert "searched for" not in now
    assert "Who paid for it? – what the owner paid" in render_markdown(replace(report, mode=Mode.EXTRACTIVE))


@pytest.mark.parametrize(
    "words",
    ["(new) (http_404)", "(old)", "(old) (gone) [1]", "(old) (gone [1])", "(old) (gone)\n- x", "(old) (<https://x>)"],
)
def test_only_why_a_page_was_not_read_may_be_in_other_words(words: str) -> None:
    assert said_otherwise(words).status is CheckStatus.FAILED


EXACT = {"quote", "prefix", "suffix", "document_id", "snapshot_id", "body_sha256", "url"}
LEAVES = [(path, value) for path, value in places(RAW) if path[-1] in EXACT and isinstance(value, str) and value]
LEAVES = [(path, value) for path, value in LEAVES if path[0] != "leads"]


@pytest.mark.parametrize(("path", "value"), LEAVES, ids=[".".join(map(str, path)) for path, _ in LEAVES])
def test_one_character_of_a_quote_hash_id_or_address_is_found(path: tuple[str | int, ...], value: str) -> None:
    for at in {0, len(value) // 3, len(value) // 2, len(value) - 1}:
        result = check_report(put(path, flipped(value, at)), SAMPLE)
        assert result.status is not CheckStatus.PASSED
        place = ".".join(map(str, path[:-1]))
        assert place in whats(result).replace("[", ".").replace("]", ""), whats(result)


def test_every_character_of_the_markdown_counts() -> None:
    markdown = SAMPLE.report.markdown
    for at in range(len(markdown)):
        [(where, _, surely)] = differences(replace(SAMPLE.report, markdown=flipped(markdown, at)))
        assert (where.split(" line")[0], surely) == ("markdown", True), at
    for at in range(0, len(markdown), len(markdown) // 20):  # of the whole check these will do
        result = check_report({**RAW, "markdown": flipped(markdown, at)}, SAMPLE)
        assert [p.where.split(" line")[0] for p in result.problems] == ["markdown"], (at, whats(result))


OFFSETS = [path for path, value in places(RAW) if path[-1] in {"start", "end", "reference_n", "n"} and value]
OFFSETS += [path for path, _ in places(RAW) if path[0] == "sections" and path[-2] in {"references", "citations"}]


@pytest.mark.parametrize("path", OFFSETS, ids=[".".join(map(str, path)) for path in OFFSETS])
@pytest.mark.parametrize("by", [-1, 1, 7])
def test_an_offset_or_number_off_by_any_is_found(path: tuple[str | int, ...], by: int) -> None:
    value = dict(places(RAW))[path]
    assert check_report(put(path, value + by), SAMPLE).status is CheckStatus.FAILED


class Tampered:
    """The sample's evidence with one change."""

    def __init__(
        self,
        snapshot: Callable[[Snapshot], Snapshot | None] = lambda s: s,
        document: Callable[[Document], Document | None] = lambda d: d,
        sample: SampleReport = SAMPLE,
    ) -> None:
        self._snapshot, self._document, self._sample = snapshot, document, sample

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        found = self._sample.snapshot(snapshot_id)
        return found and self._snapshot(found)

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        found = self._sample.document(document_id, snapshot_id)
        return found and self._document(found)

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        return None


def with_body(snapshot: Snapshot, at: int) -> Snapshot:
    body = snapshot.body
    return replace(snapshot, body=body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :])


def test_one_flipped_bit_of_any_capture_is_found() -> None:
    for at in range(60):
        result = check_report(RAW, Tampered(snapshot=partial(with_body, at=at)))
        assert len(result.problems) == 2
        assert "the stored body of the capture" in whats(result)


def test_a_changed_capture_time_or_address_is_found() -> None:
    changed = Tampered(snapshot=lambda s: replace(s, final_url=s.final_url + "x"))
    assert "address, time and body make another id" in whats(check_report(RAW, changed))


def reworded(document: Document, at: int) -> Document:
    first, *rest = document.blocks
    return replace(document, blocks=(replace(first, text=flipped(first.text, at)), *rest))


def test_one_changed_character_of_a_document_is_found() -> None:
    for at in range(8):
        result = check_report(RAW, Tampered(document=partial(reworded, at=at)))
        assert result.status is CheckStatus.FAILED
        assert whats(result).count("was changed: its text makes another id") == 2


def test_missing_evidence_is_unchecked_and_never_clean() -> None:
    for source in (Tampered(snapshot=lambda _: None), Tampered(document=lambda _: None)):
        result = check_report(RAW, source)
        assert result.status is CheckStatus.UNCHECKED
        assert {p.kind for p in result.problems} == {ProblemKind.UNCHECKED}
        assert len(result.problems) == 2


class Unreadable:
    """A store whose bytes are damaged."""

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        raise StorageUnavailable(f"a stored body can't be read: {snapshot_id}", reason="corrupt")

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        raise StorageUnavailable(f"a stored document can't be read: {document_id}", reason="corrupt")

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        return None


def test_damaged_evidence_is_a_failure_that_is_named() -> None:
    result = check_report(RAW, Unreadable())
    assert result.status is CheckStatus.FAILED
    assert len(result.problems) == 4
    assert "claims[0].evidence[0]: the capture snap_" in whats(result)


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("claims", 1, "evidence", 0, "start"), "x", "claims[1].evidence[0].start"),
        (("references", 0), None, "references[0]"),
        (("summary",), [], "summary"),
        (("sections",), {"a": 1}, "sections"),
        (("conflicts", 0, "sides"), 3, "conflicts[0].sides"),
        (("created_at",), "then", "created_at"),
        (("references", 1, "accessed_at"), "2026-11-20T09:30:00Z", "references[1].accessed_at"),
        (("references", 1, "fetched_url"), "https://other.example/", "references[1].fetched_url"),
        (("references", 1, "excerpt"), "On our machines it takes 40 MB", "references[1].excerpt"),
        (("references", 0, "snapshot_id"), "snap_0", "references[0]"),
        (("claims", 0, "verdict"), "unsupported", "report"),
        (("claims", 0, "evidence", 0, "fragment_url"), "https://other.example/#:~:text=x", "fragment_url"),
        (("markdown",), None, "markdown"),
        (("question",), "How high?", "markdown"),
    ],
)
def test_other_damage_is_named(path: tuple[str | int, ...], value: object, where: str) -> None:
    result = check_report(put(path, value), SAMPLE)
    assert result.status is not CheckStatus.PASSED
    assert where in whats(result)


def test_members_that_are_missing_are_named() -> None:
    for name in ("claims", "references", "sections", "markdown", "summary"):
        raw = {key: value for key, value in RAW.items() if key != name}
        assert name in whats(check_report(raw, SAMPLE))


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(SchemaMismatch):
        check_report({**RAW, "schema_version": SCHEMA_VERSION + 1}, SAMPLE)


def test_rereading_must_give_the_same_text_title_and_author() -> None:
    documents = {s.body: d for s, d in zip(SAMPLE.snapshots.values(), SAMPLE.documents.values(), strict=True)}
    assert check_report(RAW, SAMPLE, reread=lambda body, *_: documents[body]).status is CheckStatus.PASSED
    other = (Block(BlockKind.PARAGRAPH, "Something else."),)
    result = check_report(RAW, SAMPLE, reread=lambda body, *_: replace(documents[body], blocks=other))
    assert whats(result).count("again gives another text") == 2
    titled = check_report(RAW, SAMPLE, reread=lambda body, *_: replace(documents[body], byline="Ada Berg"))
    assert whats(titled).count("again gives another title, author or day") == 2


def test_another_version_of_the_reader_must_find_the_quotes() -> None:
    documents = {s.body: d for s, d in zip(SAMPLE.snapshots.values(), SAMPLE.documents.values(), strict=True)}
    newer = check_report(RAW, SAMPLE, reread=lambda body, *_: replace(documents[body], version="2"))
    assert newer.status is CheckStatus.PASSED
    assert [note.split(" was read by ")[1] for note in newer.notes] == [
        "sample 1; its quotes were looked for with sample 2"
    ] * 2
    other = (Block(BlockKind.PARAGRAPH, "Something else."),)
    lost = check_report(RAW, SAMPLE, reread=lambda body, *_: replace(documents[body], blocks=other, version="2"))
    assert lost.status is CheckStatus.UNCHECKED
    assert "was read by sample 1, which is not here; sample 2 does not find it in the capture" in whats(lost)


def test_a_capture_that_cannot_be_read_again_is_unchecked() -> None:
    def broken(*_: object) -> Document:
        raise ParseError("the PDF is broken", reason="broken")

    result = check_report(RAW, SAMPLE, reread=broken)
    assert result.status is CheckStatus.UNCHECKED
    assert "can't be read again here: the PDF is broken" in whats(result)


def test_a_label_must_be_that_of_the_page_and_a_wording_that_of_the_sides() -> None:
    label = put(("summary", "sentences", 0, "label"), "Version 14")
    result = check_report(label, SAMPLE)
    assert "14 in no title or address that it cites" in whats(result)
    invented = put(("summary", "sentences", 0, "label"), "Beware")
    assert "beware in no title or address that it cites, and no heading or term" in whats(
        check_report(invented, SAMPLE)
    )
    wording = put(("conflicts", 0, "wording"), "1 source says 64 MB, 1 says 97 MB")
    assert "97 in no passage of its sides" in whats(check_report(wording, SAMPLE))


def test_an_excerpt_that_was_cut_is_on_its_page() -> None:
    raw = put(("references", 0, "excerpt"), "It takes 64 MB of memory and runs every…")
    markdown_only = [p for p in check_report(raw, SAMPLE).problems if "excerpt" in p.where]
    assert markdown_only == []
    raw = put(("references", 0, "excerpt"), "It takes 65 MB of memory and runs every…")
    assert "references[0].excerpt" in whats(check_report(raw, SAMPLE))


@pytest.mark.parametrize(
    ("member", "value"),
    [("topic", "Another question?"), ("citations", []), ("citations", [{"claim_id": "clm_1", "urls": ["https://b/"]}])],
)
def test_members_that_repeat_others_must_say_the_same(member: str, value: Any) -> None:
    result = check_report({**RAW, member: value}, SAMPLE)
    assert [(p.kind, p.where) for p in result.problems] == [(ProblemKind.FAILED, member)]
    older = {name: value for name, value in RAW.items() if name != member}  # as written before there was one
    assert check_report(older, SAMPLE).status is CheckStatus.PASSED
