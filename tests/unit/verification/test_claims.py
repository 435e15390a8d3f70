"""`check_claim`: what code alone says of a claim, what a judge adds, and which slices are shown."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import pincite
from pincite.domain.evidence import CheckOutcome, JudgementLabel, Proof, Relation, VerdictStatus
from pincite.engine import Engine
from pincite.testing.judges import LabelJudge
from pincite.verification.claims import PageSearch, check_claim_with, given_page, searched

PAGE = (
    "The Havel Wind Park opened in March 2019 near the village of Rhinow. Its turbines make 398 MW, which is enough "
    "for 200,000 homes in the region. The owner plans a second phase."
)
SETTINGS = """Burrow settings

tunnel_depth (integer)

Sets how far down a tunnel may go. The default value is 40 centimetres.

cold_tunnel_depth (integer)

Sets how far down a tunnel may go in winter. It defaults to 90 centimetres.
"""
TRUE = "The Havel Wind Park has been running since March 2019."
FALSE = "The Havel Wind Park closed in March 2019."
AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_claim_in_its_sources_own_words_is_supported_without_a_judge() -> None:
    verdict = pincite.check_claim("Its turbines make 398 MW, which is enough for 200,000 homes in the region", [PAGE])
    assert (verdict.status, verdict.proof) == (VerdictStatus.SUPPORTED, Proof.QUOTED)
    [quote] = verdict.quotes
    assert PAGE[quote.start : quote.end] == quote.text
    assert "398 MW" in quote.text


@pytest.mark.parametrize("claim", [TRUE, FALSE, "The park makes 398 MW.", "Bananas are yellow.", "", "of the"])
def test_words_neither_prove_nor_refute(claim: str) -> None:
    assert pincite.check_claim(claim, [PAGE]).status is VerdictStatus.UNCHECKED


def test_a_figure_that_is_nowhere_refuses_and_the_passage_with_the_other_is_shown() -> None:
    verdict = pincite.check_claim("The Havel Wind Park makes 412 MW.", [PAGE])
    assert verdict.status is VerdictStatus.CONTRADICTED
    assert verdict.reasons == ("412 MW in the statement, 398 MW in the passage",)
    assert [(q.relation, "398 MW" in q.text) for q in verdict.quotes] == [(Relation.CONTRADICTS, True)]
    assert [(check.name, check.outcome) for check in verdict.checks] == [("number", CheckOutcome.FAILED)]


@pytest.mark.parametrize("sources", [[], [""], ["", "  \n "]])
def test_without_text_nothing_is_checked(sources: list[str]) -> None:
    verdict = pincite.check_claim(TRUE, sources)
    assert verdict.status is VerdictStatus.UNCHECKED
    assert "source" in verdict.reasons[0]


async def test_a_judge_proves_what_is_said_in_other_words_and_refuses_what_is_not() -> None:
    judge = LabelJudge({TRUE: True, FALSE: JudgementLabel.CONTRADICTS}, name="mine")
    proven = await check_claim_with(TRUE, ["Nothing here.", PAGE], judge, at=AT)
    assert (proven.status, proven.proof, proven.judge) == (VerdictStatus.SUPPORTED, Proof.ENTAILED, "mine")
    assert {quote.source_index for quote in proven.quotes} == {1}
    assert (await check_claim_with(FALSE, [PAGE], judge, at=AT)).status is VerdictStatus.CONTRADICTED


async def test_a_judge_cannot_rescue_a_figure_that_is_nowhere() -> None:
    claim = "The Havel Wind Park makes 412 MW."
    verdict = await check_claim_with(claim, [PAGE], LabelJudge({claim: True}), at=AT)
    assert verdict.status is VerdictStatus.UNSUPPORTED


async def test_partly_names_the_words_that_go_beyond() -> None:
    claim = "The park opened in March 2019 to great applause."
    judge = LabelJudge({claim: JudgementLabel.PARTLY}, beyond={claim: "to great applause"})
    verdict = await check_claim_with(claim, [PAGE], judge, at=AT)
    assert (verdict.status, verdict.beyond) == (VerdictStatus.PARTIAL, "to great applause")


async def test_the_engine_asks_its_judge(tmp_path: Path) -> None:
    judge = LabelJudge({TRUE: True})
    async with Engine.from_settings(home=tmp_path, judge=judge) as engine:
        assert (await engine.check_claim(TRUE, [PAGE])).status is VerdictStatus.SUPPORTED
    async with Engine.from_settings(home=tmp_path, judge="none") as engine:
        assert (await engine.check_claim(TRUE, [PAGE])).status is VerdictStatus.UNCHECKED
    assert judge.calls == 1


def test_slices_are_of_the_text_as_given() -> None:
    source = "Title\r\n\r\nCafe\u0301s open\r\nat nine  o\u2019clock. They close at ten."
    verdict = pincite.check_claim("Cafés open at nine o'clock.", [source])
    assert verdict.status is VerdictStatus.SUPPORTED
    [quote] = verdict.quotes
    assert source[quote.start : quote.end] == quote.text


# ---- finding ----------------------------------------------------------------------------------------------


def test_a_heading_helps_to_find_its_value_and_stands_in_the_context() -> None:
    [best] = PageSearch(given_page(SETTINGS, "a")).best("cold_tunnel_depth is 90 centimetres by default.", 1)
    assert best.text == "It defaults to 90 centimetres."
    assert any("cold_tunnel_depth" in piece.text for piece in best.context)
    assert best.whole


def test_a_statement_of_two_places_finds_both() -> None:
    filler = "\n\n".join(f"The park has a visitor centre of type {n} for homes." for n in range(30))
    page = f"The park opened in March 2019.\n\n{filler}\n\nIts turbines make 398 MW."
    found = PageSearch(given_page(page, "a")).best("The park opened in March 2019 with turbines of 398 MW.", 3)
    texts = [passage.text for passage in found]
    assert "The park opened in March 2019." in texts
    assert "Its turbines make 398 MW." in texts


def test_where_no_word_is_shared_the_beginning_is_shown() -> None:
    page = PageSearch(given_page(PAGE, "a"))
    assert page.best("Bananas") == ()
    assert searched("Bananas", [page])[0].text.startswith("The Havel")
