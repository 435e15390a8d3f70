"""The canonical Markdown: nothing from a page becomes markup, and the two citation styles convert both ways."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.fakes.reports import HOSTILE, empty_report, report_stating

from pincite.domain.markdown import escape, for_terminal, render_markdown, restyle
from pincite.domain.reasons import reason_text
from pincite.domain.report import Report, ReportGap, ReportLead, ReportStatus
from pincite.domain.report_words import ANSWER_HEADING, one_line
from pincite.testing.reports import sample_report

GOLDEN = Path(__file__).parent / "data"
PARSER = MarkdownIt("gfm-like")
assert PARSER.linkify is not None
PARSER.linkify.set({"fuzzy_link": False})  # "node.js" as a link is no part of GFM
PIECES = st.lists(
    st.one_of(
        st.sampled_from("[]()!<>*_`~#&|:\\-+=\"'.@/ \t\n1x"),
        st.sampled_from(HOSTILE),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)


def tokens(markdown: str) -> Iterator[Token]:
    for token in PARSER.parse(markdown):
        yield token
        yield from token.children or ()


def shown(markdown: str) -> str:
    """What a reader of the rendered text sees, on one line."""
    text = "".join(" " if t.type == "softbreak" else t.content for t in tokens(markdown) if not t.children)
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "report"),
    [("report.md", sample_report().report), ("insufficient.md", empty_report())],
    ids=["complete", "insufficient"],
)
def test_golden_file(name: str, report: Report) -> None:
    assert render_markdown(report) == (GOLDEN / name).read_text(encoding="utf-8")


def test_golden_file_with_linked_marks() -> None:
    expected = (GOLDEN / "report.citations.md").read_text(encoding="utf-8")
    assert render_markdown(sample_report().report, "[n](citation:n)") == expected


@given(PIECES)
def test_styles_convert_both_ways(text: str) -> None:
    report = report_stating(text)
    plain, linked = render_markdown(report), render_markdown(report, "[n](citation:n)")
    assert restyle(plain, "[n](citation:n)") == linked
    assert restyle(linked, "[n]") == plain
    assert restyle(linked, "[n](citation:n)") == linked
    assert restyle(plain, "[n]") == plain


@given(PIECES)
def test_marks_are_exactly_those_of_the_report(text: str) -> None:
    report = report_stating(text)
    printed = re.findall(r"(?<!\\)\[(\d+)\]", render_markdown(report).split("## References")[0])
    stated = [str(n) for sentence in report.sentences() for n in sentence.references]
    sides = [str(e.reference_n) for c in report.conflicts for side in c.sides for e in side.evidence]
    assert printed == stated + sides


@settings(max_examples=100)
@given(PIECES)
def test_outside_text_makes_no_markup(text: str) -> None:
    """A GFM parser with bare-URL links on finds the skeleton of the plain sample and not one token more."""
    assume(one_line(text))
    report = report_stating(text)
    allowed = {r.url for r in report.references} | {r.fetched_url for r in report.references}
    skeleton = [t.type for t in tokens(render_markdown(report_stating("word"))) if t.nesting and t.type[:4] != "link"]
    found = list(tokens(render_markdown(report)))
    assert [t.type for t in found if t.nesting and t.type[:4] != "link"] == skeleton
    assert {t.type for t in found} <= {t.type for t in tokens(render_markdown(report_stating("word")))} | {
        "text_special"
    }
    assert {t.attrGet("href") for t in found if t.type == "link_open"} == allowed


@given(PIECES)
def test_a_reader_sees_the_text_as_it_was(text: str) -> None:
    assert shown(f"Start {escape(text)} end") == " ".join(f"Start {one_line(text)} end".split())


@given(PIECES)
def test_a_terminal_shows_no_backslash_that_the_text_has_not(text: str) -> None:
    assume("\\`" not in text and not re.match(r"(?:> ?)?`{3,}", one_line(text)))
    assert for_terminal(f"Start {escape(text)} end") == f"Start {one_line(text)} end"


def test_code_keeps_its_backslashes_on_a_terminal() -> None:
    shown = for_terminal("`\\[x\\]` \\[1] and \\`y\\`\n> ```\n> a\\[0]\n> ```\n\\- end")
    assert shown == "`\\[x\\]` [1] and `y`\n> ```\n> a\\[0]\n> ```\n- end"


@given(PIECES)
def test_text_is_printable_on_any_terminal(text: str) -> None:
    markdown = render_markdown(report_stating(text))
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
    markdown.encode()


@pytest.mark.parametrize(
    "text",
    [
        "The function pg_stat_activity shows 2 * 3 rows at $5.",
        'He said: "no" (in 2016), and left; it cost 5 % more – really!',
        "C:\\path and a|b and x < y and R&D at 12:30",
        "arr[i] and f(x)[y], ratios 1:2",
    ],
)
def test_ordinary_text_needs_few_escapes(text: str) -> None:
    assert escape(text).replace("\\[y]", "[y]").replace("\\](", "](").count("\\") <= text.count("\\") + 1


def test_partial_report_says_so() -> None:
    report = replace(sample_report().report, status=ReportStatus.PARTIAL)
    assert "This report is partial" in render_markdown(report)


def test_reference_address_can_not_break_out_of_its_link() -> None:
    report = sample_report().report
    references = tuple(replace(r, url=r.url + "/a>b [1] |\\`") for r in report.references)
    markdown = render_markdown(replace(report, references=references))
    assert "<https://almanac.example/h/a%3Eb%20%5B1]%20%7C%5C%60>" in markdown


def test_addresses_that_are_not_of_the_web_are_no_links() -> None:
    report = sample_report().report
    references = tuple(replace(r, url="local:notes/# a.md", fetched_url="") for r in report.references)
    found = list(tokens(render_markdown(replace(report, references=references))))
    assert [t.attrGet("href") for t in found if t.type == "link_open"] == ["https://pictures.example/halden"]


def test_a_reference_without_a_title_shows_its_address_once() -> None:
    report = sample_report().report
    references = tuple(replace(r, title=r.url, fetched_url="") for r in report.references)
    assert "\n[3] <https://almanac.example/h>\naccessed 2026-11-21\n" in render_markdown(
        replace(report, references=references)
    )


def test_a_gap_of_the_whole_run_is_one_phrase() -> None:
    report = replace(sample_report().report, gaps=(ReportGap("", "the search ended at its cap on pages"),))
    assert "\n- the search ended at its cap on pages\n" in render_markdown(report)


@given(PIECES, st.lists(st.integers(0, 30), max_size=6), st.integers(0, 20))
def test_code_and_bold_leave_every_word_as_it_is(text: str, places: list[int], lead: int) -> None:
    line = one_line(text)
    assume(line and "`" not in line)
    cuts = sorted({min(place, len(line)) for place in places})
    code = tuple((start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if line[start:end].strip())
    assume(all(line[start:end] == line[start:end].strip() for start, end in code))
    lead = min(lead, len(line))
    assume(line[:lead] == line[:lead].strip() and not any(start < lead < end for start, end in code))
    report = report_stating("word")
    sentence = replace(report.summary.sentences[0], text=line, code=code, lead=lead)
    changed = replace(report, summary=replace(report.summary, sentences=(sentence,)))
    printed = render_markdown(changed)
    assert not {token.type for token in tokens(printed)} & {"html_block", "html_inline", "image"}
    assert all(f"`{line[start:end]}`" in printed for start, end in code)
    answer = printed.split(f"## {ANSWER_HEADING}")[1].split("\n\n")[1]
    assert shown(answer).replace(" ", "") == f"{line}[1][2]".replace(" ", "")


def test_only_what_a_page_crosses_out_is_struck_and_its_tildes_are_words() -> None:
    report = report_stating("The operators ~~ and !~~ match; it costs ~~9~~ 8.")
    first = report.summary.sentences[0]
    low = first.text.index("~~9~~")
    struck = replace(report.summary, sentences=(replace(first, struck=((low, low + 5),)),))
    text = render_markdown(replace(report, summary=struck))
    line = next(line for line in text.splitlines() if " ~~9~~ " in line)
    assert [t.type for t in tokens(line) if t.type.startswith("s_")] == ["s_open", "s_close"]
    assert "The operators ~~ and !~~ match; it costs 9 8." in shown(line)


@pytest.mark.parametrize("title", ["", "http://127.0.0.1:8000/a"])
def test_a_lead_without_a_title_is_its_address_once(title: str) -> None:
    lead = ReportLead(title, "http://127.0.0.1:8000/a", "", "robots")
    text = render_markdown(replace(sample_report().report, leads=(lead,)))
    assert [line for line in text.splitlines() if "127.0.0.1" in line] == [
        f"- <http://127.0.0.1:8000/a> ({reason_text('robots')})"
    ]
