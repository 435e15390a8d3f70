import io
import json
import zipfile
from collections.abc import Sequence

import pytest
from tests.fakes.small_web import SmallWeb

from pincite.audit.findings import Audit, AuditVerdict
from pincite.audit.pages import PageReading
from pincite.audit.render import annotated_html, annotated_markdown, as_json, json_text, summary, table
from pincite.audit.service import AuditService
from pincite.domain.errors import DeadLink, InvalidInput, ModelUnavailable
from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Proof
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.fetch.extractors.office import report_markdown
from pincite.ports import Judge
from pincite.testing.judges import LabelJudge, PageReader

PARK = """The Havel Wind Park opened in March 2019. It makes 398 MW, enough for 200,000 homes.

Acme Energy bought the park from Norfolk Power in 2021, and Maria Jensen leads its team of 45 engineers."""
RIVER = """The Orla is 512 kilometres long. It rises in the Ketu Mountains and flows south into Lake Bren.

Floods killed at least 60 people in 1952. "No one had seen such water before," the mayor said."""
PARK_URL, RIVER_URL = "https://www.wind-news.com/park", "https://www.river-atlas.org/orla"

REPORT = f"""# Wind and water

This report describes a park and a river.

The Havel Wind Park opened in March 2019 [1]. It makes 412 MW [1]. Acme Energy bought the park from Norfolk Power
in 2021 [2]. The Orla is 512 km long [2]. The river rises in the Ketu Mountains [77]. Floods killed at least 60 people
in 1952. The mayor said: "No one had ever seen such water before" [2]. The park runs on batteries [3]. The lake holds
trout and pike [4]. Bananas are grown all over the valley of the upper river by small farms [2].

## References

[1] Wind news. {PARK_URL}
[2] River atlas. {RIVER_URL}
[3] Gone. https://www.gone-page.com/x
[4] Invented. https://nowhere-at-all.com/y
[5] Never named. {PARK_URL}?unused=1
"""


TELLS = {
    "This report describes a park and a river.": "",
    "Not all of it is settled.": "",
    "The Havel Wind Park opened in March 2019.": "opened in March 2019",
    "Acme Energy bought the park from Norfolk Power in 2021.": "Acme Energy bought the park",
    "The Orla is 512 km long.": "512 kilometres long",
    "The river rises in the Ketu Mountains.": "rises in the Ketu Mountains",
    "Floods killed at least 60 people in 1952.": "Floods killed at least 60 people",
}


class Web(SmallWeb):
    """Two pages, one host that does not exist, everything else dead."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if "nowhere" in request.url:
            raise DeadLink("there is no host nowhere-at-all.com", reason="dns_failed")
        return await super().fetch(request)


async def audited(report: str | bytes = REPORT, judge: Judge | None = None, *, strict: bool = False) -> Audit:
    web = Web({PARK_URL: PARK, RIVER_URL: RIVER, f"{PARK_URL}?unused=1": PARK})
    return await AuditService(judge or PageReader(TELLS), PageReading(web), to_markdown=report_markdown).audit(
        report, strict=strict
    )


async def unjudged(report: str | bytes = REPORT) -> Audit:
    web = Web({PARK_URL: PARK, RIVER_URL: RIVER, f"{PARK_URL}?unused=1": PARK})
    return await AuditService(None, PageReading(web)).audit(report)


def outcome(audit: Audit, words: str) -> AuditVerdict:
    return next(sentence.outcome for sentence in audit.sentences if words in sentence.text)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Wind and water", AuditVerdict.NOT_A_CLAIM),
        ("This report describes", AuditVerdict.NOT_A_CLAIM),
        ("opened in March 2019", AuditVerdict.SUPPORTED),
        ("412 MW", AuditVerdict.CONTRADICTED),
        ("Acme Energy bought", AuditVerdict.WRONG_SOURCE),
        ("512 km long", AuditVerdict.SUPPORTED),
        ("rises in the Ketu", AuditVerdict.NO_ENTRY),
        ("Floods killed", AuditVerdict.UNCITED),
        ("The mayor said", AuditVerdict.MISQUOTED),
        ("batteries", AuditVerdict.COULD_NOT_CHECK),
        ("trout and pike", AuditVerdict.INVENTED_URL),
        ("Bananas", AuditVerdict.NOT_FOUND),
    ],
)
async def test_each_sentence_gets_its_verdict(words: str, expected: AuditVerdict) -> None:
    assert outcome(await audited(), words) is expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("This report describes", AuditVerdict.UNCHECKED),
        ("opened in March 2019", AuditVerdict.SUPPORTED),
        ("512 km long", AuditVerdict.UNCHECKED),
        ("412 MW", AuditVerdict.CONTRADICTED),
        ("rises in the Ketu", AuditVerdict.NO_ENTRY),
        ("Floods killed", AuditVerdict.UNCITED),
        ("The mayor said", AuditVerdict.MISQUOTED),
        ("batteries", AuditVerdict.COULD_NOT_CHECK),
        ("trout and pike", AuditVerdict.INVENTED_URL),
        ("Bananas", AuditVerdict.UNCHECKED),
    ],
)
async def test_without_a_judge_nobody_is_accused_of_what_only_a_judge_can_tell(
    words: str, expected: AuditVerdict
) -> None:
    assert outcome(await unjudged(), words) is expected


async def test_what_nobody_judged_is_said_and_never_clean() -> None:
    text = f"The Orla is 512 km long [1]. It rises in the Ketu Mountains [1].\n\n[1]: {RIVER_URL}\n"
    open_ = await unjudged(text)
    assert [s.outcome for s in open_.claims] == [AuditVerdict.UNCHECKED, AuditVerdict.UNCHECKED]
    assert (open_.clean, open_.wrong, open_.checked) == (False, (), 0)
    assert open_.shortfall.startswith("0 of 2 statements judged: 2 are not in their sources' words and nobody judged")
    quoted = await unjudged(f"It rises in the Ketu Mountains and flows south into Lake Bren [1].\n\n[1]: {RIVER_URL}\n")
    assert (quoted.clean, quoted.shortfall, quoted.claims[0].proof) == (True, "", Proof.QUOTED)
    assert "1 in their source's own words" in summary(quoted)
    tells = {**TELLS, "It rises in the Ketu Mountains.": "rises in the Ketu Mountains"}
    judged = await audited(text, PageReader(tells))
    assert (judged.clean, judged.shortfall, judged.judge) == (True, "", "label-judge")
    assert "2 claims, 2 of 2 statements judged, 100% coverage" in summary(judged)
    assert "judged: 2 by label-judge" in summary(judged)


async def test_partly_supported_fails_where_it_is_asked_to() -> None:
    text = f"The Orla is 512 km long and full of trout [1].\n\n[1]: {RIVER_URL}\n"
    said = "The Orla is 512 km long and full of trout."
    judge = LabelJudge({said: JudgementLabel.PARTLY}, beyond={said: "full of trout"})
    audit = await audited(text, judge)
    assert (audit.claims[0].outcome, audit.claims[0].beyond) == (AuditVerdict.PARTIAL, "full of trout")
    assert (audit.wrong, audit.clean) == ((), True)
    strict = await audited(text, judge, strict=True)
    assert ([s.text for s in strict.wrong], strict.clean) == ([said], False)


async def test_a_judge_that_fails_leaves_it_open() -> None:
    class Failing(LabelJudge):
        async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
            raise ModelUnavailable("the judge is down")

    audit = await audited(f"The Orla is 512 km long [1].\n\n[1]: {RIVER_URL}\n", Failing({}))
    assert (audit.claims[0].outcome, audit.clean) == (AuditVerdict.UNCHECKED, False)
    assert "the judge is down" in audit.claims[0].detail


async def test_a_sentence_that_leans_on_the_one_before_is_judged_with_it() -> None:
    text = f"The Havel Wind Park opened in March 2019 [1]. Its team has 45 engineers [1].\n\n[1]: {PARK_URL}\n"
    judge = PageReader({**TELLS, "Its team has 45 engineers.": "team of 45 engineers"})
    assert [s.outcome for s in (await audited(text, judge)).claims] == [AuditVerdict.SUPPORTED] * 2
    hints = {case.statement: case.hints for case in judge.asked}
    assert hints["Its team has 45 engineers."] == ("it stands after: The Havel Wind Park opened in March 2019.",)
    assert "The Havel Wind Park opened in March 2019." not in hints, "it is quoted"


async def test_what_the_first_passages_do_not_say_is_looked_for_further_down() -> None:
    dams = "\n\n".join(
        f"Dam {n} on the Orla holds water, and the Orla flows on from dam {n} to the Orla." for n in range(9)
    )
    page = f"{dams}\n\nAn old custom is told of there: every spring the stream is blessed."
    said = "The Orla flows on after a yearly rite."
    judge = PageReader({said: "every spring the stream is blessed"})
    url = "https://www.customs.org/orla"
    audit = await AuditService(judge).audit(f"{said} [1]\n\n[1]: {url}\n", sources={url: page})
    assert audit.claims[0].outcome is AuditVerdict.SUPPORTED
    assert judge.calls == 2


@pytest.mark.parametrize(
    "mark", ["[1]", "[1, 2]", "\\[1\\]", "【1】", "[ 1 ]", "[1][2]", "[1–2]", "[[1]]", "[^1]", "<sup>1</sup>"]
)
async def test_a_marker_is_never_read_as_a_figure(mark: str) -> None:
    said = "It rises in the Ketu Mountains and flows south into Lake Bren"
    listed = f"[1]: {RIVER_URL}\n[2]: {PARK_URL}\n" if "^" not in mark else f"[^1]: {RIVER_URL}\n"
    audit = await AuditService().audit(
        f"{said} {mark}.\n\n## Sources\n\n{listed}", sources={RIVER_URL: RIVER, PARK_URL: PARK}
    )
    assert [(s.text, s.outcome, s.checks) for s in audit.claims] == [(f"{said}.", AuditVerdict.SUPPORTED, ())]


async def test_the_figures_and_the_reasons() -> None:
    audit = await audited()
    assert len(audit.claims) == 10
    assert audit.checked == 9
    assert audit.coverage == pytest.approx(0.9)
    assert audit.citations_checked == 6
    assert audit.citations_supporting == 2
    assert audit.precision == pytest.approx(2 / 6)
    assert audit.recall == pytest.approx(0.2)
    assert [reference.key for reference in audit.never_cited] == ["5"]
    assert not audit.clean
    text = table(audit)
    assert "412 MW in the statement, 398 MW in the passage" in text
    assert "wrong source: [2], found in [1]" in text
    assert "no entry for [77]" in text
    assert 'the page says "No one had seen such water before' in text
    assert "uncited" in text
    assert "found in [2]" in text


async def test_renderings_hold_every_finding() -> None:
    audit = await audited()
    markdown = annotated_markdown(audit)
    assert "⟦✗ contradicted: 412 MW in the statement" in markdown
    assert markdown.replace("\n", " ").count("⟦") == len(audit.claims)
    page = annotated_html(audit)
    assert "<script" not in page
    assert 'class="wrong"' in page
    data = json.loads(json_text(audit))
    assert data == as_json(audit)
    assert data["counts"]["wrong_source"] == 1
    assert data["entries_never_cited"] == ["[5]"]
    assert "citation precision 33%" in summary(audit)


async def test_one_of_a_kind_is_counted_as_one() -> None:
    audit = await audited(f"The park has an output of 412 MW [1].\n\n[1]: {PARK_URL}")
    said = summary(audit)
    assert "1 claim," in said
    assert "(1 citation checked)" in said
    assert "1 page named, 1 read" in said


async def test_hostile_text_stays_text_in_html() -> None:
    audit = await audited(
        "The plant <script>alert(1)</script> opened in 2019 [1].\n\n[1]: https://x.com/<img onerror=1>"
    )
    assert "<script>" not in annotated_html(audit)


async def test_given_pages_need_no_fetcher() -> None:
    service = AuditService(PageReader(TELLS))
    audit = await service.audit(REPORT, sources={PARK_URL + "/": PARK, RIVER_URL: RIVER})
    assert outcome(audit, "512 km long") is AuditVerdict.SUPPORTED
    assert outcome(audit, "batteries") is AuditVerdict.COULD_NOT_CHECK
    empty = await service.audit(REPORT, sources={PARK_URL: "", RIVER_URL: " "})
    assert outcome(empty, "412 MW") is AuditVerdict.COULD_NOT_CHECK


async def test_a_report_without_citations_and_reserved_names() -> None:
    plain = await audited("The Havel Wind Park opened in March 2019. It makes 412 MW.")
    assert [sentence.outcome for sentence in plain.claims] == [AuditVerdict.UNCITED, AuditVerdict.UNCITED]
    assert plain.precision is None
    reserved = await audited("The park opened in 2019 [here](https://www.example.com/park).")
    assert reserved.sentences[0].outcome is AuditVerdict.INVENTED_URL


async def test_html_docx_and_answer_json_are_read() -> None:
    html = f'<html><body><h1>T</h1><p>The Orla is 512 km long <a href="{RIVER_URL}">[1]</a>.</p></body></html>'
    assert outcome(await audited(html), "512 km long") is AuditVerdict.SUPPORTED
    text = "The Orla is 512 km long. The Havel Wind Park makes 412 MW."
    answer = {
        "output": [
            {
                "type": "message",
                "content": [
                    {
                        "type": "output_text",
                        "text": text,
                        "annotations": [
                            {"type": "url_citation", "start_index": 0, "end_index": 24, "url": RIVER_URL, "title": "t"},
                            {"type": "url_citation", "start_index": 25, "end_index": 58, "url": PARK_URL, "title": "t"},
                        ],
                    }
                ],
            }
        ]
    }
    found = await audited(json.dumps(answer))
    assert [s.outcome for s in found.claims] == [AuditVerdict.SUPPORTED, AuditVerdict.CONTRADICTED]
    assert outcome(await audited(docx()), "512 km long") is AuditVerdict.SUPPORTED


def docx() -> bytes:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        f"<w:document {w}><w:body><w:p><w:r><w:t>The Orla is 512 km long.</w:t></w:r>"
        '<w:r><w:footnoteReference w:id="2"/></w:r></w:p></w:body></w:document>'
    )
    notes = (
        f'<w:footnotes {w}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        f'<w:footnote w:id="2"><w:p><w:r><w:t>Atlas. {RIVER_URL}</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", body)
        archive.writestr("word/footnotes.xml", notes)
    return buffer.getvalue()


@pytest.mark.parametrize("bad", [b"PK\x03\x04broken", b"\0\0\1binary", b'{"no": "answer"}', b"", "   "])
async def test_what_is_no_report_is_an_input_error(bad: bytes | str) -> None:
    with pytest.raises(InvalidInput):
        await audited(bad)


async def test_only_so_many_pages_are_fetched() -> None:
    links = " ".join(f"Fact {n} is told by page {n} of it [{n}]." for n in range(1, 30))
    entries = "\n".join(f"[{n}] https://site-{n}.com/p" for n in range(1, 30))
    web = Web({})
    service = AuditService(None, PageReading(web, max_pages=5))
    audit = await service.audit(f"{links}\n\n## Sources\n\n{entries}\n")
    assert len(web.fetched) == 5
    assert all(sentence.outcome is AuditVerdict.COULD_NOT_CHECK for sentence in audit.claims)


GERMAN = "Der Windpark Havel wurde im März eröffnet. Die Anlagen versorgen rund zweihunderttausend Haushalte mit Strom."


@pytest.mark.parametrize(
    ("sentence", "page"),
    [
        ("The 58 turbines of the wind park supply electricity to many thousands of households.", GERMAN),
        (
            "פארק הרוח נפתח לפני 47 שנים רבות",
            "The wind park opened years ago and supplies many homes with electricity.",
        ),
        ("The wind park opened 17 years ago and supplies homes.", "风电场于2019年3月启用，为二十万户家庭供电。"),
    ],
)
async def test_a_page_in_another_language_is_no_accusation(sentence: str, page: str) -> None:
    url = "https://a.example/p"
    audit = await AuditService().audit(f"{sentence} [1]\n\n[1]: {url}\n", sources={url: page})
    [found] = [item for item in audit.sentences if item.references]
    assert found.outcome is AuditVerdict.UNCHECKED
    assert "another" in found.detail


async def test_the_same_language_is_still_accused() -> None:
    url, page = "https://a.example/p", "The bakery sells bread and rolls. It opens at seven in the morning every day."
    text = f"Photosynthesis converts carbon dioxide and water into glucose. [1]\n\n[1]: {url}\n"
    audit = await AuditService(PageReader({})).audit(text, sources={url: page})
    assert [item.outcome for item in audit.sentences if item.references] == [AuditVerdict.NOT_FOUND]


async def test_pages_that_are_empty_or_huge_are_no_trouble() -> None:
    urls = ("https://a.example/empty", "https://b.example/huge")
    huge = "The park opened in March 2019. " + ("Word " + "word " * 40 + ". ") * 10_000
    body = "The park opened in March 2019 [1]. The park opened in March 2019 [2]. Of the and [2]."
    text = f"{body}\n\n[1]: {urls[0]}\n[2]: {urls[1]}\n"
    audit = await AuditService().audit(text, sources=dict(zip(urls, ("", huge), strict=True)))
    outcomes = [item.outcome for item in audit.sentences if item.references]
    assert outcomes == [AuditVerdict.COULD_NOT_CHECK, AuditVerdict.SUPPORTED, AuditVerdict.UNCHECKED]


@pytest.mark.parametrize("text", ["hello", "# Notes\n\nWhat now?\n", "```\nmax_wal_size = 1 GB\n```\n"])
async def test_a_text_without_a_claim_is_not_called_clean(text: str) -> None:
    audit = await AuditService().audit(text)
    assert (audit.claims, audit.clean, audit.coverage, audit.recall) == ((), False, None, None)
    assert "nothing to check" in audit.shortfall
    assert "Nothing to check" in table(audit)
    assert "0 claims" not in annotated_markdown(audit) + annotated_html(audit)
    plain = json.loads(json_text(audit))
    assert (plain["clean"], plain["coverage"], plain["shortfall"]) == (False, None, audit.shortfall)


async def test_a_report_none_of_whose_pages_could_be_read_is_not_called_clean() -> None:
    text = "The Havel Wind Park opened in March 2019. [1]\n\n[1]: https://www.gone-page.com/x\n"
    audit = await AuditService().audit(text, sources={})
    assert (audit.checked, audit.clean, audit.wrong) == (0, False, ())
    assert audit.shortfall.startswith("nothing was checked")
    assert (await audited()).shortfall == "9 of 10 statements judged: of 1 no page could be read"
