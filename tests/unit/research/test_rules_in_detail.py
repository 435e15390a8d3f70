"""The written rules of research, one test each: caps of profiles, near-copies, types, confidence, the JSON."""

import json
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from pincite.domain.events import EventType
from pincite.domain.plan import Progress, Task
from pincite.domain.search import Constraints
from pincite.exports.simple import JsonExporter
from pincite.research.extractive.parts import MAX_PARTS
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.reader import REPRESENTATIVE_RULE
from pincite.settings import load_settings

COPY = " ".join(f"Part {n} of the pump lifts water number {n} upwards." for n in range(40))


@pytest.mark.parametrize("profile", ["quick", "standard", "thorough"])
def test_each_profile_has_its_caps_of_a_step(profile: str) -> None:
    settings = load_settings({"profile": profile}, environ={}, files=())
    assert settings.results_per_query <= settings.pages_per_round <= settings.max_pages
    assert settings.queries_per_round >= 3
    assert settings.per_domain_cap == 3


def test_larger_profiles_have_larger_caps() -> None:
    made = [load_settings({"profile": name}, environ={}, files=()) for name in ("quick", "standard", "thorough")]
    for name in ("results_per_query", "pages_per_round", "queries_per_round", "max_pages"):
        values = [getattr(settings, name) for settings in made]
        assert values == sorted(values), name


async def test_the_plan_grows_with_its_parts_and_no_faster() -> None:
    sizes = []
    for count in range(2, MAX_PARTS + 4):
        items = ", ".join(f"limit of thing number {n}" for n in range(count))
        plan = await ExtractivePlanner().plan(Task(f"Limits of the pump: {items}"), Progress(round_number=1))
        assert len(plan.sub_questions) == min(count, MAX_PARTS)
        sizes.append(sum(len(part.queries) for part in plan.sub_questions))
    assert all(later - earlier <= 6 for earlier, later in pairwise(sizes))


async def test_the_rule_for_near_copies_is_told_with_the_page_it_chose(bench: Any) -> None:
    made = bench({"https://a.test/1": f"# Pump\n\n{COPY}", "https://b.test/2": f"# Pump\n\n{COPY} Yes."})
    report = await made.service().run(Task("Which part of the pump lifts water upwards?"))
    (told,) = made.events.of(EventType.PAGE_DUPLICATE)
    assert told["rule"] == REPRESENTATIVE_RULE
    assert {told["url"], told["of"]} == {"https://a.test/1", "https://b.test/2"}
    assert all(claim.independent_sources == 1 for claim in report.claims)


async def test_the_json_has_outline_constraints_citations_and_claims_of_each_sentence(bench: Any) -> None:
    limits = Constraints(exclude_domains=("spam.test",), per_domain_cap=9, since=date(2020, 1, 2))
    question = "How long does the database wait on a lock, and what removes dead row versions?"
    report = await bench().service().run(Task(question, limits))
    told = json.loads(JsonExporter().render(report, {}))
    assert told["title"] == question
    assert told["outline"] == [section["heading"] for section in told["sections"]]
    assert told["constraints"]["exclude_domains"] == ["spam.test"]
    assert told["constraints"]["per_domain_cap"] == 9
    assert told["constraints"]["since"] == "2020-01-02"
    claims = {claim["id"] for claim in told["claims"]}
    numbers = [reference["n"] for reference in told["references"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len({reference["url"] for reference in told["references"]}) == len(numbers)
    for section in told["sections"]:
        cited = [n for sentence in section["sentences"] for n in sentence["references"]]
        assert section["citations"] == list(dict.fromkeys(cited))
        assert section["citations"]
    for sentence in [*told["summary"]["sentences"], *(s for part in told["sections"] for s in part["sentences"])]:
        assert set(sentence["claim_ids"]) <= claims
        assert sentence["references"]


async def test_an_undated_page_is_kept_under_a_period_and_marked(bench: Any) -> None:
    report = await bench().service().run(Task("What removes dead row versions?", Constraints(since=date(2020, 1, 2))))
    assert report.references
    assert all("date unknown" in reference.note for reference in report.references)
