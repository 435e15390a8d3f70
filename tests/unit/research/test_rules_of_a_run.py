"""Rules that hold for every run: distinct queries, caps per step, follow-ups, stable claim ids, shares of domains."""

from datetime import date
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.domain.budget import Budget
from pincite.domain.evidence import Claim, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.ids import claim_id
from pincite.domain.plan import Gap, Plan, Progress, SubQuestion, Task
from pincite.domain.search import Constraints, Query, SearchResult, Survey
from pincite.research.extractive.planner import ExtractivePlanner, variants
from pincite.research.state import LOW_CONFIDENCE, Limits, open_sub_questions, query_key, sendable
from pincite.settings import PROFILES, load_settings

WORDS = st.lists(
    st.sampled_from("lock vacuum how why what is the queue, and: ? deadlock http://x.test/a é 12 --all".split()),
    min_size=1,
    max_size=30,
).map(" ".join)


def plan_for(question: str, constraints: Constraints | None = None) -> Plan:
    async def make() -> Plan:
        return await ExtractivePlanner().plan(Task(question, constraints or Constraints()), Progress(round_number=1))

    return anyio.run(make)


@given(WORDS)
def test_what_is_asked_first_is_the_part_as_it_was_written_and_nothing_is_a_scrap(question: str) -> None:
    for part in plan_for(question).sub_questions:
        asked, *others = part.queries
        assert asked.text == part.text
        assert all(len(query.text.split()) >= 3 for query in others)
        assert len({query_key(query) for query in part.queries}) == len(part.queries) <= 2


@pytest.mark.parametrize(
    ("question", "text", "exact"),
    [
        (
            'What does "connection refused by peer" mean in Postfix?',
            "mean Postfix connection refused by peer",
            ("connection refused by peer",),
        ),
        (
            "sqlite3.OperationalError: database is locked",
            None,
            ("database is locked", "sqlite3.OperationalError"),
        ),
        ("How large should wal_keep_size be on a standby?", "large standby wal_keep_size", ("wal_keep_size",)),
        ("How long does a lock wait for another one?", "long lock wait another one", ()),
    ],
)
def test_names_errors_and_quotations_stand_as_they_are_in_the_second_wording(
    question: str, text: str | None, exact: tuple[str, ...]
) -> None:
    first, second = plan_for(question).sub_questions[0].queries
    assert first.exact == ()
    assert second.exact == exact
    assert all(run in second.text for run in exact)
    assert text is None or second.text == text


def test_a_pasted_stack_trace_is_one_question_about_its_error() -> None:
    pasted = (
        'Traceback (most recent call last):\n  File "/home/me/app.py", line 12, in <module>\n'
        '    requests.get("https://self-signed.test/")\nrequests.exceptions.SSLError: '
        "HTTPSConnectionPool(host='self-signed.test', port=443): Max retries exceeded with url: /\n"
    )
    plan = plan_for(pasted)
    (part,) = plan.sub_questions
    assert part.text.startswith("requests.exceptions.SSLError: ")
    assert "Max retries exceeded" in part.text
    assert not any("/home/me" in query.text or "line 12" in query.text for query in part.queries)
    assert any("SSLError" in note for note in plan.notes)
    assert not any("address in the question" in note for note in plan.notes)


def test_constraints_add_sites_and_years() -> None:
    limits = Constraints(prefer_domains=("a.test", "b.test"), since=date(2023, 5, 1), until=date(2024, 2, 1))
    queries = plan_for("How long does a lock wait?", limits).sub_questions[0].queries
    assert [q.constraints.include_domains for q in queries[1:3]] == [("a.test",), ("b.test",)]
    assert queries[3].text.endswith("2023 2024")
    assert variants((), limits) == ()
    only_one = Constraints(include_domains=("a.test",))
    assert variants((Query("lock", 5, only_one),), only_one) == ()


def test_a_round_and_a_run_have_their_caps() -> None:
    parts = tuple(SubQuestion(str(n), f"q{n}", tuple(Query(f"{n} {m}") for m in range(4))) for n in range(3))
    progress = Progress(round_number=1, plan=Plan(parts))
    assert [q.text for q in sendable(progress, Limits(queries_per_round=4))] == ["0 0", "1 0", "2 0", "0 1"]
    tight = Limits(Budget(searches=2))
    assert len(sendable(progress, tight)) == 2


def verified(text: str, part: str, confidence: float) -> VerifiedClaim:
    return VerifiedClaim(
        Claim(claim_id(text, part), text, part, confidence=confidence), Verdict(VerdictStatus.SUPPORTED)
    )


def test_gaps_and_weak_answers_keep_a_sub_question_open() -> None:
    claims = (verified("a", "weak", LOW_CONFIDENCE - 0.1), verified("b", "sure", 0.9), verified("c", "sure", 0.1))
    progress = Progress(claims=claims, gaps=(Gap("missing", "nothing read is about this"),))
    assert open_sub_questions(progress) == {"weak", "missing"}


async def test_what_is_open_is_asked_again_in_its_bare_words_and_only_once() -> None:
    planner = ExtractivePlanner()
    question = "How does the mail queue retry, and what about quantum entanglement of letters?"
    first = await planner.plan(Task(question), Progress(round_number=1))
    gaps = tuple(Gap(part.text, "nothing read is about this") for part in first.sub_questions)
    asked = tuple(part.queries[0].text for part in first.sub_questions)
    again = await planner.plan(Task(question), Progress(round_number=2, plan=first, gaps=gaps, asked=asked))
    fresh = [query.text for part in again.sub_questions for query in part.queries]
    assert "quantum entanglement letters" in " ".join(fresh)
    once_more = Progress(round_number=3, plan=again, gaps=gaps, asked=(*asked, *fresh))
    assert not any(part.queries for part in (await planner.plan(Task(question), once_more)).sub_questions)


@pytest.mark.parametrize(("providers", "asks_again"), [(("local",), False), (("local", "brave"), True)])
async def test_a_library_is_not_asked_again_in_bare_words_and_the_web_is(
    providers: tuple[str, ...], *, asks_again: bool
) -> None:
    planner = ExtractivePlanner()
    question = "How does the mail queue retry a letter?"
    first = await planner.plan(Task(question), Progress(round_number=1))
    seen = Progress(
        round_number=2,
        plan=first,
        gaps=(Gap(question, "nothing read is about this"),),
        asked=(question,),
        results=tuple(SearchResult("", "https://x.test/", "", name, 1) for name in providers),
    )
    assert any(part.queries for part in (await planner.plan(Task(question), seen)).sub_questions) is asks_again


QUESTIONS = (
    "How long does the database wait on a lock?",
    "What does VACUUM do, and which rows does a transaction see?",
    "When is mail returned to its sender?",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12, deadline=None)
@given(question=st.sampled_from(QUESTIONS), rounds=st.integers(1, 4), again=st.booleans())
def test_claim_ids_are_stable_over_rounds_resume_and_replay(
    bench: Any, question: str, rounds: int, again: bool
) -> None:
    async def ids(limits: Limits, made: Any) -> dict[str, str]:
        report = await made.service().run(Task(question))
        return {claim.text: claim.id for claim in report.claims}

    limits = Limits(Budget(searches=30, pages=20, rounds=rounds))
    made = bench(limits=limits)
    one = anyio.run(ids, limits, made)
    # Executed again: from its own record (resume, replay), or anew with another number of rounds.
    other = anyio.run(ids, limits, made if again else bench(limits=Limits(Budget(rounds=1))))
    assert one
    assert all(one[text] == other[text] for text in one.keys() & other.keys())
    parts = {part.text for part in plan_for(question).sub_questions}
    assert all(any(name == claim_id(text, part) for part in parts) for text, name in one.items())


async def test_no_domain_fills_the_report_where_others_have_as_much_to_say(bench: Any) -> None:
    sites = {
        f"https://{name}.test/pump": f"# {name}\n\n"
        + "\n\n".join(f"The {name} pump moves {colour} water upwards." for colour in colours.split())
        for name, colours in {
            "big": "red blue green pink white grey black brown cyan lime",
            "small": "sea rain",
        }.items()
    }
    report = await bench(sites).service().run(Task("Which water does the pump move upwards?"))
    hosts = [claim.evidence[0].url for claim in report.claims]
    assert any("small.test" in url for url in hosts)
    assert report.metrics.domain_diversity == 1.0


async def test_a_library_is_asked_for_no_more_results_than_the_front_door_gives() -> None:
    for profile in PROFILES:
        chosen = load_settings({"profile": profile})

        async def survey(_: str) -> Survey:
            return Survey(passages=1000)

        planner = ExtractivePlanner(survey=survey, results_per_query=chosen.results_per_query)
        plan = await planner.plan(Task("How does VACUUM work?"), Progress(1))
        asked = [query.max_results for part in plan.sub_questions for query in part.queries]
        assert asked
        assert max(asked) <= chosen.most_results
        assert max(asked) > chosen.results_per_query or chosen.results_per_query >= 10
