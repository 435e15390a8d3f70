"""What was said twice is printed once, and the newer before the older."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from pincite.domain.budget import Coverage
from pincite.domain.evidence import Claim, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.layout import BlockForm, ReportBlock, Section, SectionKind, Sentence, SentenceKind, broken_layout
from pincite.domain.plan import Conflict, ConflictSide
from pincite.domain.report_words import coverage_text
from pincite.research.tidying import conflicts_once, sections_once

PART = "How tall is the tower?"


def claim(name: str, text: str, part: str = PART) -> VerifiedClaim:
    evidence: Any = (SimpleNamespace(url=f"https://{name}.example/"),)
    return VerifiedClaim(Claim(name, text, part, evidence=evidence), Verdict(VerdictStatus.SUPPORTED))


def dated(**years: int) -> Any:
    return {
        f"https://{name}.example/": SimpleNamespace(
            document=SimpleNamespace(published_at=datetime(year, 1, 1, tzinfo=UTC), modified_at=None)
        )
        for name, year in years.items()
    }


def between(*claims: VerifiedClaim, weights: tuple[int, ...] = (1, 1), wording: str = "") -> Conflict:
    sides = (
        ConflictSide(item.claim.text, item.claim.claim_id, weight) for item, weight in zip(claims, weights, strict=True)
    )
    return Conflict(tuple(sides), wording=wording)


TALL = claim("tall", "The tower is 41 m tall.")
HIGH = claim("high", "Its height: 41 m.")
LOW = claim("low", "The tower is 38 m tall.")
LIT = claim("lit", "The tower was lit in 1897.", "When was it lit?")
LATE = claim("late", "The tower was lit in 1899.", "When was it lit?")
ALL = (TALL, HIGH, LOW, LIT, LATE)


def test_one_conflict_in_several_words_is_one() -> None:
    found = conflicts_once((between(TALL, LOW), between(LOW, HIGH), between(LIT, LATE), between(LOW, TALL)), ALL, {})
    assert [{side.claim_id for side in conflict.sides} for conflict in found] == [{"tall", "low"}, {"lit", "late"}]


def test_other_figures_and_other_parts_are_other_conflicts() -> None:
    third = claim("third", "The tower is 52 m tall.")
    elsewhere = (
        claim("a", "The mast is 41 m tall.", "And the mast?"),
        claim("b", "The mast is 38 m.", "And the mast?"),
    )
    conflicts = (between(TALL, LOW), between(TALL, third), between(*elsewhere))
    assert len(conflicts_once(conflicts, (*ALL, third, *elsewhere), {})) == 3


def test_a_denial_from_both_sides_is_one_conflict() -> None:
    starts, stays = claim("starts", "The pump starts by itself."), claim("stays", "The pump does not start by itself.")
    assert len(conflicts_once((between(starts, stays), between(stays, starts)), (starts, stays), {})) == 1


def test_the_newer_side_comes_first_unless_more_sources_stand_behind_the_other() -> None:
    pages = dated(tall=2011, low=2024)
    (found,) = conflicts_once((between(TALL, LOW),), ALL, pages)
    assert [side.claim_id for side in found.sides] == ["low", "tall"]
    (found,) = conflicts_once((between(TALL, LOW, weights=(2, 1)),), ALL, pages)
    assert [side.claim_id for side in found.sides] == ["tall", "low"]
    (found,) = conflicts_once((between(TALL, LOW, wording="1 says 41 m, 1 says 38 m"),), ALL, pages)
    assert [side.claim_id for side in found.sides] == ["tall", "low"], "as its wording counts them off"
    (found,) = conflicts_once((between(TALL, LOW),), ALL, dated(low=2024))
    assert [side.claim_id for side in found.sides] == ["tall", "low"], "without dates as they came"


def said(*texts: str, reference: int = 1) -> tuple[Sentence, ...]:
    return tuple(Sentence(text, SentenceKind.CLAIM, (text,), (reference,)) for text in texts)


def test_two_sections_under_one_heading_are_one() -> None:
    sections = (
        Section("Height", said("A.", "B."), (1,)),
        Section("Lamp", said("C.", reference=2), (2,)),
        Section("height ", said("D.", reference=3), (3,)),
        Section("Height", said("E."), (1,), SectionKind.KEY_NUMBERS),
    )
    found = sections_once(sections)
    assert [(s.heading, "".join(one.text for one in s.sentences), s.citations) for s in found] == [
        ("Height", "A.B.D.", (1, 3)),
        ("Lamp", "C.", (2,)),
        ("Height", "E.", (1,)),
    ]
    assert found[0].sentences[2].opens, "what came from the second section is a paragraph of its own"


def test_sections_keep_their_layout_when_they_are_joined() -> None:
    listed = (ReportBlock(BlockForm.LIST, ((0,), (1,))),)
    for first, then, forms in (
        ((), listed, ["paragraph", "list"]),
        (listed, (), ["list", "paragraph"]),
        (listed, listed, ["list", "list"]),
    ):
        (found,) = sections_once(
            (
                Section("Height", said("A.", "B."), (1,), blocks=first),
                Section("Height", said("C.", "D."), (1,), blocks=then),
            )
        )
        assert [str(block.form) for block in found.blocks] == forms
        assert [index for block in found.blocks for item in block.items for index in item] == [0, 1, 2, 3]
        assert list(broken_layout(found, 1)) == []


def test_support_is_told_where_it_says_something() -> None:
    assert coverage_text(Coverage(claims=5, independent=0)) == ""
    assert coverage_text(Coverage(claims=0, independent=0, wanted_share=0.6)) == ""
    assert coverage_text(Coverage(claims=5, independent=2)).startswith("2 of 5 statements rest on 2 or more")
    assert coverage_text(Coverage(claims=5, independent=0, wanted_share=0.6)).startswith("0 of 5 statements")
