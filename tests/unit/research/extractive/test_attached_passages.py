"""A claim that its own quote does not carry, and another page that does."""

from pincite.domain.evidence import CheckOutcome, Claim, VerdictStatus, VerifiedClaim
from pincite.domain.page import FetchRequest
from pincite.domain.plan import Analysis, Progress, ReadPage, Task
from pincite.research.extractive.claims import evidence_of
from pincite.research.extractive.passages import Span
from pincite.research.extractive.verifier import ExtractiveVerifier
from pincite.testing.small_web import SmallWeb
from pincite.verification.checker import MechanicalChecker

OFF = "https://a.test/bakery"
RIGHT = "https://b.test/park"
PAGES = {
    OFF: "The bakery in the old town sells bread and rolls every morning.",
    RIGHT: "Visitors come.\n\nThe Havel Wind Park opened in March 2019 and makes 398 MW.\n\nIt has 99 turbines.",
}


async def verified(text: str) -> VerifiedClaim:
    web = SmallWeb(PAGES)
    read = []
    for url in PAGES:
        fetched = await web.fetch(FetchRequest(url))
        read.append(ReadPage(url, fetched.snapshot, fetched.document))
    claim = Claim("c1", text, "q1", evidence=(evidence_of(read[0], Span(0, len(PAGES[OFF]))),))
    progress = Progress(pages=tuple(read))
    verifier = ExtractiveVerifier(MechanicalChecker())
    found = await verifier.verify(Task("What is the park?"), [Analysis(claims=(claim,))], progress)
    return found.claims[0]


async def test_a_passage_that_carries_the_claim_is_attached_and_recorded() -> None:
    item = await verified("The Havel Wind Park opened in March 2019.")
    assert item.verdict.status is VerdictStatus.SUPPORTED
    assert [evidence.url for evidence in item.claim.evidence] == [RIGHT]
    assert "398 MW" in item.claim.evidence[0].quote.text
    [record] = [check for check in item.checks if check.name == "passage"]
    assert record.outcome is CheckOutcome.PASSED
    assert OFF in record.detail
    assert RIGHT in record.detail


async def test_nothing_is_attached_where_no_page_carries_the_claim() -> None:
    item = await verified("The Havel Wind Park opened in May 2004.")
    assert item.verdict.status is not VerdictStatus.SUPPORTED
    assert [evidence.url for evidence in item.claim.evidence] == [OFF]
    assert not [check for check in item.checks if check.name == "passage"]
