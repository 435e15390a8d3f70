"""What a page crosses out, sets as a formula or puts together from pieces is told to whoever checks a sentence."""

from datetime import UTC, datetime

import anyio
import pytest

from pincite.domain.evidence import ContextRole, EvidencePassage, VerdictStatus
from pincite.fetch.extractors import extract
from pincite.text.context import numbered, passage_in_context
from pincite.verification.facts import FactOutcome
from pincite.verification.proof import Statement, prove
from pincite.verification.quotes import is_quoted

URL = "https://shop.example/kettle"


def passage(html: str, said: str) -> EvidencePassage:
    document = extract(f"<title>Kettle</title>{html}".encode(), URL, "text/html")
    start = document.text.index(said)
    return passage_in_context(document, start, start + len(said))


@pytest.mark.parametrize(
    ("html", "said", "role", "marked"),
    [
        ("<p>The kettle costs <del>90</del> 70 dollars.</p>", "The kettle costs 90 70 dollars.", "struck", "90"),
        (
            "<p>The share is <math><mfrac><mn>3</mn><mn>4</mn></mfrac></math> of all.</p>",
            "The share is 3/4 of all.", "unsure", "3/4",
        ),
        ("<p>It holds <span>1</span><span>2</span> cups.</p>", "It holds 12 cups.", "unsure", "12"),
    ],
)  # fmt: skip
def test_the_mark_reaches_the_lines_that_a_judge_is_shown(html: str, said: str, role: str, marked: str) -> None:
    found = passage(html, said)
    assert [(line.role, line.text) for line in numbered([found]) if line.role not in {None, ContextRole.TITLE}] == [
        (role, marked)
    ]


def test_a_sentence_with_a_struck_figure_is_no_quote_and_its_figure_no_fact() -> None:
    found = passage("<p>The kettle costs <del>90</del> 70 dollars.</p>", "The kettle costs 90 70 dollars.")
    assert not is_quoted("The kettle costs 90 70 dollars.", [found])
    assert is_quoted("The kettle costs ~~90~~ 70 dollars.", [found]), "who shows what is struck as struck quotes it"
    assert not is_quoted("The kettle costs 90 ~~70~~ dollars.", [found])

    async def outcomes(statement: str) -> tuple[VerdictStatus, list[FactOutcome]]:
        proven = (await prove([Statement(statement, (found,))], None, at=datetime(2026, 1, 1, tzinfo=UTC)))[0]
        return proven.verdict, [finding.outcome for finding in proven.facts]

    verdict, old = anyio.run(outcomes, "The kettle costs 90 dollars.")
    assert verdict is not VerdictStatus.SUPPORTED
    assert FactOutcome.FOUND not in old
    _, new = anyio.run(outcomes, "The kettle costs 70 dollars.")
    assert new == [FactOutcome.FOUND]


def test_a_sentence_beside_the_struck_one_is_quoted() -> None:
    said = "It is made of steel. It costs 90 70 dollars."
    found = passage("<p>It is made of steel. It costs <s>90</s> 70 dollars.</p>", said)
    assert is_quoted("It is made of steel.", [found])
    assert not is_quoted(said, [found])
    assert is_quoted("It is made of steel. It costs ~~90~~ 70 dollars.", [found])
