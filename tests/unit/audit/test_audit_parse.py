import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cpu_time import cpu_at_most

from pincite.audit.parse import ParsedReport, parse_report
from pincite.domain.errors import InvalidInput
from pincite.domain.report_words import (
    MAYBE_PARTIAL,
    NO_ANSWER,
    NOT_SURELY_ALL,
    NOTHING_BESIDE,
    PARTIAL_ANSWER,
    PARTLY_ANSWERED,
    TOUCHED_ON,
    WORDS_ONLY,
)


def cites(text: str) -> list[tuple[str, list[str], list[str]]]:
    parsed = parse_report(text)
    return [
        (s.claim, [parsed.references[i].key or parsed.references[i].url for i in s.references], list(s.missing))
        for s in parsed.sentences
        if not s.heading
    ]


LIST = (
    "\n\n## References\n\n[1] First page. https://one.com/a\n[2] Second page. https://two.com/b\n"
    "3. [Third](https://three.com/c)\n"
)
Cite = tuple[str, list[str], list[str]]
OPENED: Cite = ("It opened in 2019.", ["1"], [])
POWER: Cite = ("It makes power.", ["2"], [])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("It opened in 2019.[1] It makes power [2].", [OPENED, POWER]),
        ("It opened in 2019. [1] It makes power. [2]", [OPENED, POWER]),
        ("It opened [1, 3] in 2019.", [("It opened in 2019.", ["1", "3"], [])]),
        ("It opened in 2019 [1-3].", [("It opened in 2019.", ["1", "2", "3"], [])]),
        ("It opened in 2019【1】【2†source】.", [("It opened in 2019.", ["1", "2"], [])]),
        ("It opened in 2019[[2]](https://two.com/b).", [("It opened in 2019.", ["2"], [])]),
        ("It opened in 2019.¹ ² It is 5 m² large.", [OPENED, ("² It is 5 m² large.", [], [])]),
        ("It opened in 2019 <sup>1</sup>.", [("It opened in 2019.", ["1"], [])]),
        ("It opened in 2019 [citation:2].", [("It opened in 2019.", ["2"], [])]),
        ("It opened in 2019 [77].", [("It opened in 2019.", [], ["77"])]),
        ("It opened [2019].", [("It opened [2019].", [], [])]),
        ("The call `list[1]` gives the second item.", [("The call list[1] gives the second item.", [], [])]),
        ("```\nx = a[1]. Then b[2].\n```\n\nIt opened [1].", [("It opened.", ["1"], [])]),
        ("- It opened in 2019.[1]\n- It makes power [2].", [OPENED, POWER]),
        ("| Name | Power |\n|---|---|\n| Park | 398 MW [1] |", [("Park 398 MW", ["1"], [])]),
        ("نص عربي قصير هنا [1]. جملة أخرى؟ [2]", [("نص عربي قصير هنا.", ["1"], []), ("جملة أخرى؟", ["2"], [])]),
    ],
)  # fmt: skip
def test_markers_belong_to_their_sentence(body: str, expected: list[tuple[str, list[str], list[str]]]) -> None:
    assert cites(body + LIST) == expected


def test_a_list_before_more_text_is_one_of_references_where_half_of_it_has_addresses() -> None:
    entries = "1. First page. https://one.com/a\n2. A book of the park, 2019\n"
    text = f"It opened in 2019 [1]. It makes power [2].\n\n{entries}\nIt closes in 2030.\n"
    assert cites(text) == [OPENED, POWER, ("It closes in 2030.", [], [])]
    steps = entries.replace(" https://one.com/a", "")
    assert len(cites(text.replace(entries, steps))) > 3, "two steps are no references"


def test_what_stands_without_a_number_under_the_heading_of_a_list_is_a_reference() -> None:
    text = "It opened in 2019 [1].\n\n## References\n\n1. First page. https://one.com/a\n\nNorr, Anna. Parks. 2020.\n"
    assert [r.text for r in parse_report(text).references] == [
        "First page. https://one.com/a",
        "Norr, Anna. Parks. 2020.",
    ]


def test_a_heading_about_sources_is_no_list_for_the_entry_above_it() -> None:
    text = "1. Buy coal of https://one.com/a\n## Sources\nThe park draws on two rivers.\n"
    assert "The park draws on two rivers." in [claim for claim, _, _ in cites(text)]
    assert [s.claim for s in parse_report(text).sentences if s.heading] == ["Sources"]


def test_inline_links_and_bare_urls_are_citations() -> None:
    found = cites(
        "It [opened in 2019](https://one.com/a). More is at https://two.com/b. ([three](https://three.com/c))"
    )
    assert found == [
        ("It opened in 2019.", ["https://one.com/a"], []),
        ("More is at.", ["https://two.com/b", "https://three.com/c"], []),
    ]


def test_author_and_year_lead_to_their_entry() -> None:
    text = (
        "Output rose (Smith, 2024). Costs fell (Lee et al. 2023; Smith 2024). It opened (March 2019).\n\n"
        "References\n\n- Smith, J. (2024). Wind. https://one.com/a\n- Lee, K., Park, S. (2023). Cost. https://two.com/b\n"
    )
    assert cites(text) == [
        ("Output rose.", ["smith 2024"], []),
        ("Costs fell.", ["lee 2023", "smith 2024"], []),
        ("It opened (March 2019).", [], []),
    ]


def test_footnotes_and_definitions_anywhere() -> None:
    text = (
        "It opened.[^a] It closed.[^2]\n\n[^a]: A page. https://one.com/a\n\n"
        "[^2]: Another,\n  https://two.com/b\n\nMore text."
    )
    parsed = parse_report(text)
    assert [r.url for r in parsed.references] == ["https://one.com/a", "https://two.com/b"]
    assert [s.claim for s in parsed.sentences] == ["It opened.", "It closed.", "More text."]


def test_of_two_lists_the_next_one_is_meant() -> None:
    text = (
        "# One\n\nIt opened [1].\n\n## Sources\n\n1. https://one.com/a\n\n"
        "# Two\n\nIt closed [1].\n\n## Sources\n\n1. https://two.com/b\n"
    )
    parsed = parse_report(text)
    assert [[parsed.references[i].url for i in s.references] for s in parsed.sentences if not s.heading] == [
        ["https://one.com/a"],
        ["https://two.com/b"],
    ]


def test_a_heading_about_sources_without_a_list_is_text() -> None:
    parsed = parse_report("## Sources\n\nThe water comes from two springs in the hills.\n")
    assert parsed.references == ()
    assert [s.claim for s in parsed.sentences if not s.heading] == ["The water comes from two springs in the hills."]


def test_an_entry_runs_on_to_the_blank_line() -> None:
    text = (
        "It rose [1]. It fell [2].\n\n## References\n\n[1] 20.4. Wind\n<https://one.com/a>\naccessed 2026-11-13\n\n"
        "[2] Water\n<https://two.com/b>\naccessed 2026-11-13\n"
    )
    assert [(r.key, r.url) for r in parse_report(text).references] == [
        ("1", "https://one.com/a"),
        ("2", "https://two.com/b"),
    ]


def test_dois_become_urls() -> None:
    parsed = parse_report("It rose [1].\n\nReferences\n\n[1] Smith. Wind. doi:10.1000/xyz123.\n")
    assert parsed.references[0].url == "https://doi.org/10.1000/xyz123"


def test_five_thousand_citations_are_read_quickly() -> None:
    body = " ".join(f"Fact number {n} stands here [{n}]." for n in range(1, 5001))
    entries = "\n".join(f"[{n}] Page. https://site{n}.com/p" for n in range(1, 5001))
    parsed = parse_report(f"{body}\n\n## References\n\n{entries}\n")
    assert len(parsed.references) == 5000
    assert sum(len(s.references) for s in parsed.sentences) == 5000


def test_an_empty_report_is_an_input_error() -> None:
    with pytest.raises(InvalidInput):
        parse_report(" \n ")


@given(st.text(alphabet='aB1 .[](){}^|#-*>`\n²【】¹:/"“', min_size=1).filter(lambda text: bool(text.strip())))
def test_offsets_are_exact_whatever_the_text(text: str) -> None:
    parsed: ParsedReport = parse_report(text)
    position = 0
    for sentence in parsed.sentences:
        assert position <= sentence.start < sentence.end <= len(text)
        position = sentence.end


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "[a](",
        "> ",
        "|",
        "(Smith ",
        "[[1",
        "*",
        "`",
        "```\n",
        "https://x.com/a ",
        "[1, ",
        " ",
        "\n[1] ",
        "|:-",
        "- ",
    ],
)
def test_hostile_repetition_takes_linear_time(piece: str) -> None:
    with cpu_at_most(3):
        parse_report(piece * 40_000 + "x")


def test_raised_figures_of_copied_text_are_markers_where_the_list_has_them() -> None:
    text = (
        "The park opened in March 2019.1 It makes 398 MW.1,2 Version 3.12 is out. The site grew.7\n\n"
        "#### Works cited\n\n1. Park, accessed November 1, 2026, https://a.example/p\n2. Firm, https://b.example/q\n"
    )
    report = parse_report(text)
    cited = [(sentence.claim, sentence.references) for sentence in report.sentences if not sentence.heading]
    assert cited[:3] == [
        ("The park opened in March 2019.", (0,)),
        ("It makes 398 MW.", (0, 1)),
        ("Version 3.12 is out.", ()),
    ]


def test_a_url_in_brackets_after_a_sentence_belongs_to_it() -> None:
    report = parse_report("It makes 412 MW. (https://a.example/p) Anna founded it. (https://b.example/q)\n")
    assert [(s.claim, s.references) for s in report.sentences] == [
        ("It makes 412 MW.", (0,)),
        ("Anna founded it.", (1,)),
    ]


def test_citation_cards_without_an_address_are_no_text() -> None:
    report = parse_report('The park opened. [](render_card_json={"cardIds":["1"]}) It makes 412 MW.\n')
    assert [sentence.claim for sentence in report.sentences] == ["The park opened.", "It makes 412 MW."]


TWO = "[1] First page. https://one.com/a\n[2] Second page. https://two.com/b\n"


def listed(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    report = parse_report(text)
    return [(r.key, r.url) for r in report.references], [s.claim for s in report.sentences if not s.heading]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (f"### Cited material\n\n{TWO}", [("1", "https://one.com/a"), ("2", "https://two.com/b")]),
        (f"Belege\n{TWO}", [("1", "https://one.com/a"), ("2", "https://two.com/b")]),
        (f"---\n\n{TWO}", [("1", "https://one.com/a"), ("2", "https://two.com/b")]),
        ("### Stoff\n\n1. [First](https://one.com/a)\n2. Minutes of spring\n", [("1", "https://one.com/a"), ("2", "")]),
        ("1. Norr, Wind\n2. Minutes of spring\n", [("1", ""), ("2", "")]),
    ],
)
def test_a_list_is_found_under_any_heading_and_none(sources: str, expected: list[tuple[str, str]]) -> None:
    found, claims = listed(f"It opened [1]. It grew [2].\n\n{sources}")
    assert found == expected
    assert claims == ["It opened.", "It grew."]


def test_a_list_of_links_is_found_under_any_heading() -> None:
    found, claims = listed("It opened (Park, https://one.com/a).\n\n## Pages\n\n- Park, https://one.com/a\n")
    assert (found, claims) == ([("", "https://one.com/a")], ["It opened."])
    found, claims = listed("It opened.\n\n## More\n\n- [Park](https://one.com/a)\n- Bridge: https://two.com/b\n")
    assert (found, claims) == ([("", "https://one.com/a"), ("", "https://two.com/b")], ["It opened."])


def test_findings_and_steps_with_links_are_no_list_of_sources() -> None:
    _, claims = listed("## Findings\n\n- It opened ([Park](https://one.com/a)).\n- It grew ([B](https://two.com/b)).\n")
    assert claims == ["It opened.", "It grew."]
    steps = "1. Install it from [the site](https://one.com/x).\n2. Then start it.\n\n"
    found, claims = listed(f"{steps}It runs [1]. It stops [2].\n\n### Stoff\n\n{TWO}")
    assert found[:2] == [("1", "https://one.com/a"), ("2", "https://two.com/b")]
    assert claims == ["Install it from the site.", "Then start it.", "It runs.", "It stops."]


@pytest.mark.parametrize(
    ("text", "claims", "urls"),
    [
        ("It opened (Park Guide, https://a.com/x).", ["It opened."], ["https://a.com/x"]),
        ("It opened (see https://a.com/x).", ["It opened."], ["https://a.com/x"]),
        ("It is (Wiki, https://w.org/Foo_(bar)) old.", ["It is old."], ["https://w.org/Foo_(bar)"]),
        ("It is (A, https://a.com/a; B, https://a.com/b).", ["It is."], ["https://a.com/a", "https://a.com/b"]),
        ("It is ([A](https://a.com/a), [B](https://a.com/b)).", ["It is."], ["https://a.com/a", "https://a.com/b"]),
        ("It (opened in 2019, https://a.com/x) grew.", ["It (opened in 2019) grew."], ["https://a.com/x"]),
        ("It (see [the list](https://a.com/x) first) grew.", ["It (see the list first) grew."], ["https://a.com/x"]),
    ],
)
def test_the_title_beside_an_address_in_brackets_is_no_part_of_the_claim(
    text: str, claims: list[str], urls: list[str]
) -> None:
    report = parse_report(text)
    assert [s.claim for s in report.sentences] == claims
    assert [reference.url for reference in report.references] == urls


def test_a_small_letter_begins_a_sentence_behind_a_marker() -> None:
    _, claims = listed(f"It dumps [1]. pg_dump waits.[2] postscreen looks. Smith et al. [1] found it.\n\n{TWO}")
    assert claims == ["It dumps.", "pg_dump waits.", "postscreen looks.", "Smith et al. found it."]


@pytest.mark.parametrize("marker", ["[1]", r"\[1\]", "［1］", "[ 1 ]", "[[1]]", "【1】"])
def test_a_marker_never_stays_in_the_claim(marker: str) -> None:
    assert cites(f"It opened {marker}." + LIST) == [("It opened.", ["1"], [])]


def test_a_title_with_full_stops_is_one_title() -> None:
    text = (
        "> **13.2. Isolation › 13.2.1. Read Committed** [1]\n>\n> It is the default. Others can be set.\n\n"
        "## References\n\n[1] Isolation\n<https://a.example/>\n"
    )
    first, *quoted = parse_report(text).sentences
    assert (first.claim, first.heading) == ("13.2. Isolation › 13.2.1. Read Committed", True)
    assert [(sentence.claim, sentence.references) for sentence in quoted] == [
        ("It is the default.", (0,)),
        ("Others can be set.", (0,)),
    ]


OF_ITSELF = (
    f"{PARTIAL_ANSWER}\n\n",
    f"{MAYBE_PARTIAL}\n\n",
    f"{PARTLY_ANSWERED}\n\n",
    "*No page has “Zanzibar” or “brontosaurus”.*\n\n",
    "*From 3 of 11 pages read, in their own words: a.example (2), b.example. Below: Rates; Risks.*\n\n",
    "*From 1 page read, in their own words: local:club and 2 more. Below: Rates; Risks.*\n\n",
    "- Who built it?\n    - searched for: “Who built it?”; “built 1931”; and in 2 other wordings\n",
    "Proof: 1 sentence in their sources' words.\n",
    (
        "Proof: 3 sentences in their sources' words; 44 paraphrases, judged by server:reader (the model that wrote "
        "them); 27 derived; nothing was left out, the judge let all 71 pass in the end.\n"
    ),
    "Proof: 2 derived, judged by label-judge, my\\_model (not the model that wrote them).\n",
    f"{TOUCHED_ON}\n\n",
    f"{NO_ANSWER}\n\n2 statements were considered; none passed the checks.\n\n",
    f"*{WORDS_ONLY}*\n\n",
    f"- Who built it? – answered in part: {NOT_SURELY_ALL}\n",
    f"- {NOTHING_BESIDE} “Who built it in 1931”\n",
    "- Who built it? – no sure answer found in any of the 10 pages read\n",
    "- What is wal_level? – no sure answer found: no page read has wal\\_level, --all\n",
    "- the planner worked by rules, without the model: the connection to the model failed\n",
    "- more may be found with a higher cap on pages read\n",
    "- the search ended at its cap on pages read; more may be found with a higher one\n",
)


@pytest.mark.parametrize("line", OF_ITSELF, ids=lambda line: " ".join(line.split()[:3]))
def test_what_a_report_says_of_itself_is_no_fact_of_a_page(line: str) -> None:
    said = [sentence.claim for sentence in parse_report(f"It opened. [1]\n\n{line}{LIST}").sentences]
    assert not [claim for claim in said if "pages" in claim or "partial" in claim or "searched" in claim], said
    assert not [claim for claim in said if "Proof" in claim or "derived" in claim], said
    assert not [claim for claim in said if claim != "It opened." and not claim.endswith("?") and "Below" not in claim]


@pytest.mark.parametrize(
    "line",
    [
        "*From 3 of 11 pages read, in their own words: the dam of Ostrow broke in 1931. Below: Rates.*",
        "*From 1 page read, the dam broke in 1931.*",
        "    - searched for: “dam” and it broke in 1931",
        "    - searched for: “dam”; it broke in 1931”",
        "*This report is partial: the dam broke in 1931.*",
        "Proof: 3 sentences prove that the dam broke in 1931.",
        "Proof: 3 derived; the dam broke in 1931.",
        "Proof: 3 paraphrases, judged by the dam that broke in 1931.",
        "**No sure answer.** The dam broke in 1931.",
        "2 statements were considered; one says that the dam broke in 1931.",
        "- The dam broke in 1931. – answered in part: these passages may not be the whole answer",
        "- Who built it? – answered in part: the dam broke in 1931",
        "- Who built it? – no sure answer found: no page read has the dam that broke in 1931",
        "- the planner worked by rules, without the model: the dam broke in 1931",
        "*Below: It broke in 1931; Rates.*",
    ],
)
def test_no_fact_hides_in_what_a_report_says_of_itself(line: str) -> None:
    said = [sentence.claim for sentence in parse_report(f"It opened. [1]\n\n{line}\n{LIST}").sentences]
    assert any("1931" in claim for claim in said), said


def test_a_list_of_the_reports_own_headings_states_nothing() -> None:
    rest = "## Rates\n\nIt opened. [1]\n\n## 20.10. The dam of 1931\n\nIt stands. [1]\n\n" + LIST
    said = [
        sentence.claim
        for sentence in parse_report("*Below: Rates; 20.10. The dam of 1931.*\n\n" + rest).sentences
        if not sentence.heading
    ]
    assert said == ["It opened.", "It stands."]
    more = parse_report("*Below: Rates; 20.10. The dam of 1931 broke in 1932.*\n\n" + rest).sentences
    assert any("1932" in sentence.claim for sentence in more)


def test_code_and_escaped_signs_stay_in_what_is_audited() -> None:
    text = (
        "It runs `a.b`.`c()` in **f(\\*args)** and `__init__` with x\\_y, (see [1]). Its done() says so [1].\n\n"
        "> **Rates** [1]\n>\n> 1. Call `wait()`.\n>\n> ```\n> code\n> ```\n>\n> - It waits.\n\n" + LIST
    )
    said = [sentence.claim for sentence in parse_report(text).sentences if not sentence.heading]
    assert said == [
        "It runs a.b.c() in f(*args) and __init__ with x_y, (see).",
        "Its done() says so.",
        "Call wait().",
        "It waits.",
    ]
    assert all(sentence.references == (0,) for sentence in parse_report(text).sentences)


def test_a_quotation_under_the_title_of_its_page_is_cited_by_it() -> None:
    text = (
        "# Bridges\n\nIt is 31 metres high. [2]\n\n"
        "> **Bridges of Ostrow › History** [1]\n>\n> The bridge was opened in 1931. It carries two tracks.\n\n"
        "> **Rates** [2]\n>\n> ```python\n> rate = 5.0\n> ```\n\n"
        "> Somebody said this in 1950.\n\n"
        "Proof: 3 sentences in their sources' words.\n\n"
        "## References\n\n[1] Bridges\n<https://a.example/>\n\n[2] Heights\n<https://b.example/>\n"
    )
    parsed = parse_report(text)
    said = {sentence.claim: sentence.references for sentence in parsed.sentences if not sentence.heading}
    assert said["The bridge was opened in 1931."] == said["It carries two tracks."] == (0,)
    assert said["It is 31 metres high."] == (1,)
    assert said["Somebody said this in 1950."] == ()
    assert not any("Proof" in claim or "rate" in claim for claim in said)
