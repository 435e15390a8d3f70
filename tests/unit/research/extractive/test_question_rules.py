"""How a question is read: kind of answer, parts, terms, premise, identifiers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.evidence import Check, CheckOutcome, Verdict, VerdictStatus
from pincite.domain.plan import Task
from pincite.research.extractive.answers import answer_fit
from pincite.research.extractive.parts import MAX_PARTS, item_of, split_question
from pincite.research.extractive.passages import cut
from pincite.research.extractive.premises import denies, premise_of
from pincite.research.extractive.questions import MAX_TERMS, read_question
from pincite.research.extractive.words import is_exact, is_identifier, key_terms
from pincite.testing.small_web import document_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many wheels has the cart?", "number"),
        ("How steep is the ramp when it rains?", "number"),
        ("How does the brake work?", "method"),
        ("Who built the tower?", "person"),
        ("Who may drive the cart?", "role"),
        ("When was the tower lit?", "date"),
        ("When does the ferry leave?", "moment"),
        ("What happens when the brake fails?", ""),
        ("Since which release does it fly?", "version"),
        ("Why does the brake squeal?", "reason"),
        ("Is the brake on?", "yes_no"),
        ("What is the difference between oil and grease?", "compare"),
    ],
)
def test_the_earliest_asking_word_gives_the_kind_of_answer(question: str, kind: str) -> None:
    assert read_question(question).answer_type == kind


def test_items_keep_their_stem_which_counts_less() -> None:
    parts = split_question(
        "Which limits has the cart: load in tonnes, speed (loaded and empty), and age of the driver?"
    )
    assert [item_of(part) for part in parts] == ["load in tonnes", "speed (loaded and empty)", "age of the driver"]
    ask = read_question(parts[0])
    weight = dict(zip(ask.terms, ask.emphasis, strict=True))
    assert weight["tonn"] > weight["cart"]


def test_a_second_question_that_leans_on_the_first_keeps_its_words() -> None:
    first, second = split_question("How does the brake choose which wheels it stops, and what has oil to do with it?")
    assert first == "How does the brake choose which wheels it stops"
    assert item_of(second) == "what has oil to do with it?"
    assert "wheel" in read_question(second).terms


def test_words_that_only_ask_are_no_terms() -> None:
    framed = read_question("How does the brake choose which wheels it stops?")
    weight = dict(zip(framed.terms, framed.emphasis, strict=True))
    assert weight.get("choos", 0.0) < weight["wheel"]
    ask = read_question("How many bolts hold the wheel by default?")
    assert ask.wants_default
    assert "default" not in ask.terms
    assert "mani" not in ask.terms


@given(st.text(max_size=3_000))
def test_any_text_is_read_within_bounds(text: str) -> None:
    assert len(read_question(text).terms) <= MAX_TERMS
    assert 1 <= len(split_question(text)) <= MAX_PARTS


@pytest.mark.parametrize("word", ["io_method", "--advance", "HTTP/2", "keepAlive", "core.quantumIndex", "zstd"])
def test_names_of_the_machine_must_be_spelled_like_this(word: str) -> None:
    assert is_identifier(word)
    assert is_exact(word)


@pytest.mark.parametrize("word", ["wheel", "Tower", "sky", "2026"])
def test_plain_words_are_no_identifiers(word: str) -> None:
    assert not is_identifier(word)


def test_compound_words_also_give_their_parts() -> None:
    assert key_terms("max_wheel_count")[1:] == ("max", "wheel", "count")


@pytest.mark.parametrize(
    ("question", "premise"),
    [
        ("Since the cart has nine wheels, how do I add one?", "the cart has nine wheels"),
        ("The cart has nine wheels by law; does that change?", "The cart has nine wheels by law"),
        ("Why does the cart have nine wheels?", "the cart have nine wheels"),
        ("How many wheels has the cart?", ""),
    ],
)
def test_what_a_question_takes_for_granted(question: str, premise: str) -> None:
    assert premise_of(question) == premise


def verdict(name: str, detail: str, status: VerdictStatus = VerdictStatus.UNSUPPORTED) -> Verdict:
    return Verdict(status, checks=(Check(name, CheckOutcome.FAILED, detail),))


def test_another_amount_in_the_same_unit_denies() -> None:
    premise, page = "the cart stops within nine seconds", "Cart brakes. The cart stops within four seconds."
    assert denies(premise, "The cart stops within four seconds.", page, verdict("numbers", "nine is not there"))
    assert not denies(premise, "The cart stops within nine seconds.", page, verdict("roles", ""))
    assert not denies(premise, "The bell rings for four seconds.", "Bells.", verdict("numbers", ""))


@pytest.mark.parametrize(
    ("premise", "statement", "against"),
    [
        ("the lamp stays lit for a whole day", "Lamp: the lamp stays lit for 15 minutes.", True),
        ("the lamp stays lit for a whole day", "Lamp: number of seconds to stay lit (default: 900).", True),
        ("the lamp stays lit for 15 minutes", "Lamp: number of seconds to stay lit (default: 900).", False),
        ("the lamp stays lit for one hour", "Lamp: it stays lit for 3600 seconds.", False),
        ("the lamp stays lit for a day", "Lamp: it stays lit for 24 hours.", False),
    ],
)
def test_times_are_compared_over_their_units(premise: str, statement: str, *, against: bool) -> None:
    assert denies(premise, statement, "The lamp stays lit.", verdict("numbers", "")) is against


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("How large may a nest be?", "size"),
        ("How wide is the brook?", "width"),
        ("How old is the mill?", "age"),
    ],
)
def test_what_is_asked_by_degree_is_searched_by_its_name(question: str, term: str) -> None:
    ask = read_question(question)
    assert dict(zip(ask.terms, ask.emphasis, strict=True))[term] == 1.0


@pytest.mark.parametrize("told", ["is 31 metres tall", "has a height of 31 metres"])
async def test_a_degree_is_found_by_its_name_and_by_its_own_word(bench: Any, told: str) -> None:
    page = f"# Halden lighthouse\n\nThe Halden lighthouse {told} and was first lit in 1888.\n\n" + "It is red. " * 20
    report = (
        await bench({"https://halden-light.test/light": page}).service().run(Task("How tall is the Halden lighthouse?"))
    )
    assert [claim.text for claim in report.claims][:1] == [f"The Halden lighthouse {told} and was first lit in 1888."]


def test_the_sign_of_a_comparison_is_no_term() -> None:
    assert read_question("owl vs duck").terms == ("owl", "duck")


def test_a_negation_denies_only_plainly() -> None:
    premise = "the cart repeats a failed stop"
    found = verdict("negation", "", VerdictStatus.CONTRADICTED)
    assert denies(premise, "The cart does not repeat a failed stop.", "", found)
    assert not denies(premise, "If wet, the cart does not repeat a failed stop.", "", found)


def test_a_negation_of_something_else_denies_nothing() -> None:
    found = verdict("negation", "")
    statement = "class rail.CartLoopPolicy: There is no need to install the policy. Carts are set up with it."
    assert not denies("carts need a loop of rail", statement, "", found)
    assert denies("carts need a loop of rail", "Carts do not need any loop of rail.", "", found)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which nest types does the library support?", "list"),
        ("Which status does the nest return?", "number"),
        ("What colours can eggs have?", "list"),
    ],
)
def test_a_plural_asks_for_a_list(question: str, kind: str) -> None:
    assert read_question(question).answer_type == kind


@pytest.mark.parametrize(
    ("question", "statement", "least"),
    [
        ("What is the default port?", "If port is omitted, the standard one (143) is used.", 0.9),
        ("How long may a name be?", "It has at most 80 characters.", 0.9),
        ("Since which release can it swim?", "Swimming was added in version 2.8.", 1.0),
        ("Which colours do eggs have?", "Eggs are white, brown, green, or speckled.", 1.0),
    ],
)
def test_the_form_of_an_answer(question: str, statement: str, least: float) -> None:
    passage = cut("https://a.test/", document_of(statement))[0]
    assert answer_fit(read_question(question), statement, passage) >= least


def test_a_figure_in_the_term_is_stated_with_the_first_sentence_of_its_meaning() -> None:
    text = "egg_limit (default: 500) :: The size of a nest in bytes. Larger nests are refused."
    passage = cut("https://a.test/", document_of(text))[0]
    ask = read_question("How large may a nest be by default?")
    opening = answer_fit(ask, "The size of a nest in bytes.", passage)
    assert opening > answer_fit(ask, "Larger nests are refused.", passage, opens=False) > 0.3


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        (
            "Since which release can it swim?",
            "Swimming was added with Duck 2.8.",
            "Duck 3.0 and later still swim in OLDPOND.",
        ),
        ("How many eggs start the heating?", "The default value is 6700.", "Setting this to 0 disables all heating."),
        ("How many eggs fit?", "It takes 6 eggs.", "It does not take KAPPA-8 eggs."),
        ("How long does it sleep?", "Number of minutes to sleep (default: 30).", "It wakes after 30 calls."),
        ("How long does it sleep?", "The nap never ends.", "Owls that never sing are let in."),
        ("Who built the mill?", "The mill was built by Ada.", "Builders see [Mill] for it."),
        ("Who built the mill?", "Ada Lind built the mill.", "Then Builders went away."),
        ("Who built the mill?", "Ada Lind built the mill.", "Whoever built it is under [Old Mills] there."),
        ("What is the default limit of a nest?", "By default it is 64 eggs.", "Nest(a, limit=DEFAULT_LIMIT)"),
    ],
)
def test_some_figures_are_no_answer(question: str, better: str, worse: str) -> None:
    passage = cut("https://a.test/", document_of(f"{better} {worse}"))[0]
    ask = read_question(question)
    assert answer_fit(ask, better, passage) > answer_fit(ask, worse, passage)
