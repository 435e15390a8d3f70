"""Which given page a reference names: by address, file name, title; and what fits twice is not guessed."""

import pytest
from tests.fakes.small_web import SmallWeb

from pincite.audit.findings import Audit, AuditVerdict, ListedReference, ReferenceState
from pincite.audit.pages import PageReading, match_given
from pincite.audit.service import AuditService
from pincite.domain.search import ListedPage


def reference(text: str, url: str = "") -> ListedReference:
    return ListedReference("1", url, text, 0, len(text))


def matched(entry: ListedReference, *pages: ListedPage) -> tuple[str, str]:
    found = match_given([entry], pages).get(0)
    return ("", "") if found is None else (found.page.path if found.page else "", found.how)


def file(path: str, title: str = "", *states: str) -> ListedPage:
    return ListedPage(f"local:given/{path}", title, path, states)


PARK = "https://www.wind-news.com/2019/park-opens.html"


@pytest.mark.parametrize(
    ("entry", "page", "how"),
    [
        (reference("Park. " + PARK, PARK), file("a.html", "", PARK + "#top"), "address"),
        (reference(PARK, PARK), ListedPage(PARK, "", "b.html"), "address"),
        (reference(PARK, PARK), file("park-opens.txt"), "file name"),
        (reference(PARK, PARK), file("saved/Park_Opens.html"), "file name"),
        (reference(PARK, PARK), file("wind-news.com_2019_park-opens.html"), "file name"),
        (reference("x", "https://a.com/guide%20one.pdf"), file("guide one.pdf"), "file name"),
        (reference("x", "https://a.com/"), file("a.com.html"), "file name"),
        (reference("Internal memo, memo-7.docx"), file("memos/memo-7.docx"), "file name"),
        (reference("Norr, A. The park of Havel opens. Wind News."), file("9.html", "The Park of Havel Opens"), "title"),
        (reference("The park of Havel opens"), file("9.html", "The park of Havel opens | Wind News"), "title"),
        (reference("The park of Havel opens."), file("the-park-of-havel-opens.md"), "title"),
    ],
)
def test_a_reference_finds_its_page(entry: ListedReference, page: ListedPage, how: str) -> None:
    other = file("other.html", "Something else entirely", "https://www.else.com/other")
    assert matched(entry, other, page) == (page.path, f"read from {page.path}, by its {how}")


@pytest.mark.parametrize(
    ("entry", "page"),
    [
        (reference(PARK, PARK), file("park.html", "Park")),
        (reference("x", "https://a.com/news/index.html"), file("index.html")),
        (reference("x", "https://a.com/"), file("b.com.html")),
        (reference("Park life"), file("park.html", "Park")),
        (reference("See the memo-77.docx"), file("memo-7.docx")),
        (reference(""), file("x.html")),
    ],
)
def test_what_only_resembles_is_not_taken(entry: ListedReference, page: ListedPage) -> None:
    assert matched(entry, page) == ("", "")


def test_of_several_files_of_one_name_the_folder_tells_or_none_is_taken() -> None:
    entry = reference("x", "https://a.com/docs/15/vacuum.html")
    new, old, lost = file("16/vacuum.html"), file("15/vacuum.html"), file("vacuum.html")
    assert matched(entry, new, old) == ("15/vacuum.html", "read from 15/vacuum.html, by its file name")
    assert matched(entry, new, lost) == ("", "2 given pages fit by their file name: 16/vacuum.html, vacuum.html")


def test_a_file_answers_for_one_address_only() -> None:
    urls = ("https://a.com/15/vacuum.html", "https://a.com/16/vacuum.html")
    entries = [reference(url, url) for url in urls]
    found = match_given(entries, [file("vacuum.html")])
    assert [found[n].page for n in (0, 1)] == [None, None]
    assert "fits another reference" in found[0].how
    sure = match_given(entries, [file("vacuum.html", "", urls[1])])
    assert (sure[0].page, sure[1].page and sure[1].page.path) == (None, "vacuum.html")
    again = match_given([entries[0], entries[0]], [file("vacuum.html")])
    assert all(match.page for match in again.values())


TEXT = "The Havel Wind Park opened in March 2019. It makes 398 MW, enough for 200,000 homes."
REPORT = "The Havel Wind Park makes 412 MW. [1] It opened in March 2019. [2]\n\n## References\n\n[1] {}\n[2] Lost. https://www.lost.com/x\n"


def states(audit: Audit) -> list[ReferenceState]:
    return [found.state for found in audit.references]


@pytest.mark.parametrize("entry", ["Wind news. https://example.com/park-opens", "Wind news, park-opens.md"])
async def test_an_audit_reads_the_file_it_was_given(entry: str) -> None:
    page = file("park-opens.md", "Havel")
    web = SmallWeb({page.url: TEXT})
    audit = await AuditService(None, PageReading(web, listed=[page])).audit(REPORT.format(entry))
    assert states(audit) == [ReferenceState.READ, ReferenceState.DEAD]
    assert audit.references[0].reason == "read from park-opens.md, by its file name"
    assert audit.sentences[0].outcome is AuditVerdict.CONTRADICTED
    given = await AuditService().audit(REPORT.format(entry), sources={"park-opens.md": TEXT})
    assert states(given) == [ReferenceState.READ, ReferenceState.NOT_GIVEN]
    assert given.sentences[0].outcome is AuditVerdict.CONTRADICTED


async def test_two_files_that_fit_are_named_and_not_read() -> None:
    pages = [file("a/park-opens.md"), file("b/park-opens.md")]
    service = AuditService(None, PageReading(SmallWeb({}), listed=pages))
    audit = await service.audit(REPORT.format("https://www.wind.com/park-opens"))
    assert audit.references[0].state is ReferenceState.NOT_GIVEN
    assert "a/park-opens.md, b/park-opens.md" in audit.references[0].reason
    both = {page.path: TEXT for page in pages}
    given = await AuditService().audit(REPORT.format("https://www.wind.com/park-opens"), sources=both)
    assert "2 given pages fit" in given.references[0].reason
