"""The self-contained page: complete, loads nothing, and shows text from outside as text only."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as parser
from tests.fakes.reports import HOSTILE, empty_report, report_stating

from pincite.domain.excerpts import excerpts_of
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.report import Report, ReportEvidence, ReportStatus
from pincite.domain.report_words import without_controls
from pincite.exports.html import HtmlExporter
from pincite.exports.passages import CONTEXT_CHARS, passage
from pincite.testing.reports import sample_report

SAMPLE = sample_report()
GOLDEN = Path(__file__).parent / "data" / "report.body.html"
PIECES = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join)


def render(report: Report = SAMPLE.report, documents: Mapping[str, Document] = SAMPLE.documents) -> str:
    return HtmlExporter().render(report, documents).decode()


def body(page: str) -> str:
    return page[page.index("<body>") : page.index("<script>")]


def skeleton(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(e.tag, tuple(sorted(e.attrib))) for e in parser.document_fromstring(page).iter() if isinstance(e.tag, str)]


def test_golden_file() -> None:
    assert body(render()) == GOLDEN.read_text(encoding="utf-8")


def test_the_policy_allows_its_own_style_and_script_and_nothing_else() -> None:
    page = render()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    for tag in ("style", "script"):
        source = page[page.index(f"<{tag}>") + len(tag) + 2 : page.index(f"</{tag}>")]
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert not re.search(r"\b(src|srcset|style|onclick|onerror)=", page[page.index("</style>") :])
    assert "@import" not in page
    assert "url(" not in page


def test_every_sentence_opens_a_panel_that_marks_its_quotes() -> None:
    tree = parser.document_fromstring(render())
    sentences = tree.xpath("//a[starts-with(@class, 'sentence ')]")
    claims = {claim.id: claim for claim in SAMPLE.report.claims}
    stated = [s for s in SAMPLE.report.sentences() if s.claim_ids]
    assert len(sentences) == len(stated)
    for link, sentence in zip(sentences, stated, strict=True):
        assert link.text_content() == sentence.text
        panel = tree.get_element_by_id(link.get("href")[1:])
        marked = [mark.text_content() for mark in panel.iter("mark")]
        assert marked == [e.quote for claim_id in sentence.claim_ids for e in claims[claim_id].evidence]
        assert link.get("title").startswith(("✓ supported: “", "◐ partly supported: “"))
        assert panel.get("tabindex") == "-1"


def test_every_link_inside_the_page_has_its_target() -> None:
    tree = parser.document_fromstring(render())
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    for href in tree.xpath("//a/@href"):
        assert href.startswith("https://") or href[1:] in ids


@given(PIECES)
def test_outside_text_makes_no_markup(text: str) -> None:
    assert skeleton(render(report_stating("word " + text + " word"))) == skeleton(render(report_stating("word")))


@given(PIECES)
def test_page_text_makes_no_markup(text: str) -> None:
    blocks = (Block(BlockKind.PARAGRAPH, "word"), Block(BlockKind.CODE, "code"))
    plain = Document("x", "1", blocks)
    safe = "".join(c for c in without_controls(text) if c != "\ufffd").replace("\n", " ")
    hostile = Document(
        "x",
        "1",
        (Block(BlockKind.PARAGRAPH, "word"), Block(BlockKind.CODE, unicodedata.normalize("NFC", "code " + safe + "."))),
    )
    pages = []
    for document in (plain, hostile):
        claim = SAMPLE.report.claims[0]
        quote = document.quote(0, len(document.text))
        evidence = tuple(
            replace(e, document_id=document.document_id, quote=quote.text, start=0, end=len(document.text))
            for e in claim.evidence
        )
        claims = (replace(claim, evidence=evidence), *SAMPLE.report.claims[1:])
        pages.append(skeleton(render(replace(SAMPLE.report, claims=claims), {document.document_id: document})))
    assert pages[0] == pages[1]


def test_addresses_that_are_not_of_the_web_are_no_links() -> None:
    references = tuple(replace(r, url="javascript:alert(1)") for r in SAMPLE.report.references)
    claims = tuple(
        replace(c, evidence=tuple(replace(e, url="javascript:alert(1)") for e in c.evidence))
        for c in SAMPLE.report.claims
    )
    page = render(replace(SAMPLE.report, references=references, claims=claims, leads=()))
    assert 'href="javascript' not in page


def test_a_missing_document_shows_the_quote_and_says_so() -> None:
    page = render(documents={})
    quotes = sum(len(claim.evidence) for claim in SAMPLE.report.claims)
    assert page.count("The stored page is not at hand") == quotes
    assert page.count("<mark>") == quotes


def test_insufficient_and_partial_reports_say_so() -> None:
    page = render(empty_report(), {})
    assert "Not enough evidence." in page
    assert "What was searched" in page
    assert "<aside" not in page
    assert "This report is partial" in render(replace(SAMPLE.report, status=ReportStatus.PARTIAL))


def test_hundred_claims_weigh_less_than_300_kilobytes() -> None:
    claims, sentences = [], []
    first = SAMPLE.report.sections[0]
    for index in range(100):
        claim = replace(SAMPLE.report.claims[0], id=f"claim_{index}", text=f"Statement {index}.")
        claims.append(claim)
        sentences.append(replace(first.sentences[0], claim_ids=(claim.id,)))
    sections = (replace(first, sentences=(*first.sentences, *sentences)), *SAMPLE.report.sections[1:])
    page = render(replace(SAMPLE.report, claims=(*SAMPLE.report.claims, *claims), sections=sections))
    assert len(page.encode()) < 300_000


WORDS = " ".join(f"word{n:03}" for n in range(200))
LONG = Document("x", "1", (Block(BlockKind.HEADING, "Head", level=1), Block(BlockKind.PARAGRAPH, WORDS)))


def evidence_at(document: Document, start: int, end: int) -> ReportEvidence:
    quote = document.quote(start, end)
    base = SAMPLE.report.claims[0].evidence[0]
    return replace(base, quote=quote.text, start=start, end=end, prefix=quote.prefix, suffix=quote.suffix)


def test_a_long_block_is_cut_on_words_around_the_quote() -> None:
    start = LONG.text.index("word100")
    found = passage(evidence_at(LONG, start, start + 15), LONG)
    (part,) = found.parts
    before, quote, after = (piece.text for piece in part.pieces[1:-1])
    assert part.pieces[0].text == part.pieces[-1].text == "…"
    assert quote == "word100 word101"
    assert before.startswith("word")
    assert after.endswith(tuple("0123456789"))
    assert CONTEXT_CHARS - 40 <= len(before) <= CONTEXT_CHARS
    assert found.section == ("Head",)


@given(st.data())
def test_the_marked_text_is_the_quote_wherever_it_lies(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text("ab .", min_size=1, max_size=300), min_size=1, max_size=5))
    document = Document("x", "1", tuple(Block(BlockKind.PARAGRAPH, text) for text in texts))
    start = data.draw(st.integers(0, len(document.text) - 1))
    end = data.draw(st.integers(start + 1, len(document.text)))
    found = passage(evidence_at(document, start, end), document)
    marked = "".join(piece.text for part in found.parts for piece in part.pieces if piece.marked)
    assert marked == document.text[start:end].replace("\n", "")
    assert found.stored


@pytest.mark.parametrize(("start", "end"), [(-5, 3), (3, 3), (0, 4)])
def test_offsets_that_do_not_fit_the_document_show_the_report_s_own_quote(start: int, end: int) -> None:
    wrong = replace(SAMPLE.report.claims[0].evidence[0], start=start, end=end)
    assert not passage(wrong, LONG).stored


def test_a_quote_is_shown_in_what_was_kept_around_it() -> None:
    evidence = SAMPLE.report.claims[1].evidence[0]
    kept = excerpts_of(SAMPLE.documents[evidence.document_id], [(evidence.start, evidence.end)])
    shown = passage(evidence, kept)
    assert (shown.stored, shown.whole) == (True, False)
    assert [piece.text for piece in shown.parts[0].pieces if piece.marked] == [evidence.quote]
    other = replace(evidence, start=evidence.start + 1, end=evidence.end + 1)
    assert not passage(other, kept).stored
