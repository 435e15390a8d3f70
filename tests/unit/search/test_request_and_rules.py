from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.errors import InvalidInput
from pincite.domain.search import Constraints, Query, SearchResult, Topic
from pincite.search.catalogue import CATALOGUE, OWN_DATA, Terms, card_of
from pincite.search.filters import QualityRules, apply_filters, drop_irrelevant, names_in
from pincite.search.intent import Intent, RetrievalContext, gate, intent_of
from pincite.search.request import (
    checked,
    exact_key,
    google_tbs,
    in_words,
    near_key,
    quoted,
    shortened,
    time_range,
    with_operators,
)

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("latest news on the elections", Intent.CURRENT_EVENT),
        ("who won the match yesterday", Intent.CURRENT_EVENT),
        ("randomised trial of statins meta-analysis", Intent.RESEARCH),
        ("arxiv paper on diffusion models", Intent.RESEARCH),
        ("kubernetes api reference", Intent.DOCUMENTATION),
        ("how to set a timeout in nginx", Intent.DOCUMENTATION),
        ("ValueError: could not convert string to float", Intent.ERROR),
        ("docker exit with error code 137", Intent.ERROR),
        ("Traceback (most recent call last): File x", Intent.ERROR),
        ("regex to match an email", Intent.CODE),
        ("array.map() vs forEach", Intent.CODE),
        ("pizza near me", Intent.LOCAL),
        ("history of the bicycle", Intent.GENERAL),
        ("why is the sky blue", Intent.GENERAL),
    ],
)
def test_intents(text: str, intent: Intent) -> None:
    assert intent_of(Query(text)) is intent


def test_a_topic_set_by_the_caller_decides() -> None:
    assert intent_of(Query("kubernetes api reference", topic=Topic.NEWS)) is Intent.CURRENT_EVENT


@pytest.mark.parametrize(
    ("text", "confidence", "web"),
    [
        ("who was Ada Lovelace", 0.9, False),
        ("who was Ada Lovelace", 0.59, True),
        ("latest news on Ada", 0.95, True),
        ("django database timeout configuration", 0.95, True),
        ("TypeError: undefined is not a function", 0.95, True),
        ("manual of the dishwasher", 0.95, False),
    ],
)
def test_the_gate(text: str, confidence: float, web: bool) -> None:
    verdict = gate(Query(text), RetrievalContext(confidence))
    assert verdict.needs_web is web
    assert verdict.reason


def test_site_operators_fit_into_what_the_engine_takes() -> None:
    many = Query("pool", constraints=Constraints(include_domains=tuple(f"site{n}.example.org" for n in range(100))))
    text = with_operators(many, CATALOGUE["brave"])
    assert len(text) <= 400
    assert text.startswith("pool (site:site0.example.org OR ")
    assert text.endswith(")")
    none = Query("pool", constraints=Constraints(exclude_domains=("a.org", "b.org")))
    assert with_operators(none, CATALOGUE["brave"]) == "pool -site:a.org -site:b.org"


@given(st.text(max_size=600), st.integers(10, 400))
def test_a_shortened_text_is_a_beginning_of_it(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= max(most, 0)
    assert text.startswith(short)


@pytest.mark.parametrize(
    ("since", "until", "span"),
    [
        (date(2026, 11, 20), None, "day"),
        (date(2026, 11, 15), None, "week"),
        (date(2026, 10, 22), None, "month"),
        (date(2026, 1, 1), None, "year"),
        (date(2020, 1, 1), None, None),
        (date(2026, 11, 20), date(2026, 11, 20), None),
        (None, None, None),
    ],
)
def test_time_ranges(since: date | None, until: date | None, span: str | None) -> None:
    assert time_range(since, until, TODAY) == span


def test_date_operators() -> None:
    assert google_tbs(date(2026, 1, 2), None, TODAY) == "cdr:1,cd_min:01/02/2026,cd_max:11/21/2026"
    assert google_tbs(None, date(2025, 1, 2), TODAY) == "cdr:1,cd_max:01/02/2025"
    assert google_tbs(None, None, TODAY) is None


@given(st.text(min_size=1, max_size=200))
def test_keys_do_not_change_with_case_spacing_or_closing_marks(text: str) -> None:
    query = Query(text)
    other = replace(query, text="  ".join(text.split()) + " ?!")
    assert exact_key(query, ("auto",)) == exact_key(other, ("auto",))
    assert exact_key(query, ("auto",)) != exact_key(query, ("exa",))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("how to rotate logs in nginx", "nginx logs rotate tutorial", True),
        ("best way to rotate nginx logs", "nginx rotate logs", True),
        ("copy a table from prod to staging", "copy a table from staging to prod", False),
        ("nginx logs 1.24 rotate", "nginx logs 1.26 rotate", False),
        ("python package is not installed on debian", "python package is installed on debian", False),
        ("C++ vector resize cost", "C vector resize cost", False),
        ("C vector resize cost", "R vector resize cost", False),
        ("C# string format width", "C string format width", False),
        (".net string format width", "net string format width", False),
    ],
)
def test_near_keys(one: str, other: str, same: bool) -> None:
    assert near_key(Query(one), ()) is not None
    assert (near_key(Query(one), ()) == near_key(Query(other), ())) is same


def test_domains_are_read_leniently() -> None:
    found = checked(Query("x", constraints=Constraints(include_domains=("https://Example.org/", "*.example.com", " "))))
    assert found.constraints.include_domains == ("example.org", "example.com")


def hit(title: str, snippet: str = "", url: str = "https://a.example/", **more: Any) -> SearchResult:
    return SearchResult(title, url, snippet or f"{title}, told at length.", "exa", 1, **more)


def test_results_about_another_name_go() -> None:
    query = Query("What does the PostgreSQL planner do with a hash join?")
    results = [
        hit("Hash joins in the planner", url="https://mysql.example/"),
        hit("PostgreSQL: the planner and hash joins", url="https://b.example/"),
    ]
    dropped: Counter[str] = Counter()
    kept = drop_irrelevant(query, results, dropped)
    assert [result.url for result in kept] == ["https://b.example/"]
    assert dropped["irrelevant"] == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("How does PostgreSQL find deadlocks?", {"postgresql"}),
        ("what does RFC9110 say about Retry-After", {"rfc9110", "retri"}),
        ("how do plants grow", set()),
        ("HOW DO PLANTS GROW", set()),
    ],
)
def test_names_in_a_query(text: str, names: set[str]) -> None:
    assert names <= set(names_in(text))
    assert bool(names) == bool(names_in(text))


def test_a_result_surely_in_another_language_goes() -> None:
    german = hit(
        "Verbindungspool", "Dieser Artikel erklärt ausführlich, wie man einen Verbindungspool richtig einstellt."
    )
    english = hit(
        "Connection pool",
        "This article explains at length how a connection pool is set up properly.",
        "https://b.example/",
    )
    dropped: Counter[str] = Counter()
    query = Query("pool", constraints=Constraints(language="en"))
    assert apply_filters(query, [german, english], QualityRules(), dropped) == (english,)
    assert dropped == {"language": 1}


def test_undated_results_stay_unless_told_otherwise() -> None:
    query = Query("pool", constraints=Constraints(since=date(2026, 1, 1)))
    old = hit("Connection pool of old", published_at=datetime(2020, 1, 1, tzinfo=UTC))
    undated = hit("Connection pool undated", url="https://b.example/")
    assert apply_filters(query, [old, undated], QualityRules(), Counter()) == (undated,)
    assert apply_filters(query, [old, undated], QualityRules(keep_undated=False), Counter()) == ()


def test_every_row_of_the_catalogue_has_what_the_docs_need() -> None:
    for name, card in CATALOGUE.items():
        assert card.name == name
        assert card.limits_text
        assert card.max_results >= 10
        assert not card.terms.may_share() or (card.terms.read_on and card.terms.attribution), name
        if card.price:
            assert card.price.dated.year >= 2026
            assert card.price.advanced >= card.price.basic >= Decimal(0)


def test_terms_of_several_engines_are_the_strictest() -> None:
    free = Terms(longest_cache_s=1000, storable=True, shareable=True, attribution="A")
    both = free.strictest(Terms(attribution="B"))
    assert not both.may_share()
    assert not both.may_keep_raw()
    assert both.cap_s() == 1000
    assert both.attribution == "A, B"
    assert OWN_DATA.strictest(free).may_keep_raw()


def test_an_engine_from_elsewhere_has_unknown_price_and_terms() -> None:
    card = card_of("somebody")
    assert card.cost(None) is None
    assert not card.terms.may_share()


def test_a_site_that_was_typed_becomes_a_limit_that_holds_at_every_engine() -> None:
    asked = checked(Query("lock timeout site:docs.example.org -site:old.example.org"))
    assert asked.text == "lock timeout"
    assert asked.constraints.include_domains == ("docs.example.org",)
    assert asked.constraints.exclude_domains == ("old.example.org",)
    narrowed = checked(Query("lock site:docs.example.org", constraints=Constraints(include_domains=("example.org",))))
    assert narrowed.constraints.include_domains == ("docs.example.org",)
    with pytest.raises(InvalidInput) as caught:
        checked(Query("lock site:other.test", constraints=Constraints(include_domains=("example.org",))))
    assert caught.value.reason == "domains_contradict"
    assert checked(Query("what does website: mean")).text == "what does website: mean"


def test_a_file_type_and_words_of_the_title_that_were_typed_are_limits_too() -> None:
    asked = checked(Query('intitle:"lock timeout" filetype:.PDF intitle:pool manual'))
    assert asked.text == "manual lock timeout pool"
    assert checked(Query("connection pool intitle:Pool")).text == "connection pool", "no word twice"
    assert (asked.constraints.file_type, asked.constraints.in_title) == ("pdf", "lock timeout pool")
    assert checked(Query("ext:csv prices")).constraints.file_type == "csv"
    assert checked(Query("what does filetype: do")).text == "what does filetype: do"
    for reason, limits in (("file_type", Constraints(file_type="p/df")), ("in_title", Constraints(in_title="?!"))):
        with pytest.raises(InvalidInput) as caught:
            checked(Query("pool", constraints=limits))
        assert caught.value.reason == reason


def test_an_engine_gets_the_operators_that_it_has_and_words_for_the_others() -> None:
    asked = Query("tuning a pool", constraints=Constraints(file_type="pdf", in_title="Pool size"))
    sent = {name: with_operators(in_words(asked, card), card) for name, card in CATALOGUE.items()}
    assert (
        sent["brave"]
        == sent["serper"]
        == sent["duckduckgo"]
        == ("tuning a pool filetype:pdf intitle:Pool intitle:size")
    )
    assert sent["wikipedia"] == "tuning a pool pdf intitle:Pool intitle:size"
    assert sent["searxng"] == in_words(asked, CATALOGUE["tavily"]).text == "tuning a pool pdf size"
    long = Query("word " * 300, constraints=Constraints(file_type="pdf", include_domains=("example.org",)))
    cut = with_operators(long, CATALOGUE["brave"], max_words=50)
    assert cut.endswith(" filetype:pdf site:example.org")
    assert len(cut) <= CATALOGUE["brave"].query_chars
    assert len(cut.split()) <= 50


def test_limits_that_are_younger_than_the_keys_leave_older_keys_as_they_were() -> None:
    plain = Query("size of a connection pool")
    pdfs = replace(plain, constraints=Constraints(file_type="pdf"))
    assert exact_key(plain, ("a",)) == "7f803801a1d0de9603f9d85a3f3555ab85e7e5700b2a1fe4181dc4e79518953f"
    assert len({key(query, ("a",)) for key in (exact_key, near_key) for query in (plain, pdfs)}) == 4


def test_exact_words_are_quoted_as_far_as_they_fit_and_have_keys_of_their_own() -> None:
    asked = Query("mean Postfix connection refused by peer", exact=("connection refused by peer",))
    assert quoted(asked, 400).text == 'mean Postfix "connection refused by peer"'
    assert quoted(asked, len(asked.text)).text == asked.text
    plain = replace(asked, exact=())
    assert exact_key(asked, ("a",)) != exact_key(plain, ("a",))
    assert near_key(asked, ("a",)) is None
    pasted = Query("ValueError: bad field in /srv/app/x.py here", exact=("bad field in /srv/app/x.py here",))
    assert checked(pasted).exact == (), "what is of one machine is on no page"
