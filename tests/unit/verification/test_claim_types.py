"""What a sentence marks itself as: an opinion of its writer, an estimate, or neither."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pincite import sync
from pincite.domain.evidence import ClaimType
from pincite.verification.claims import claim_type
from pincite.verification.figures import SAYS_ABOUT, figures


@pytest.mark.parametrize(
    "text",
    [
        "We recommend that the file stays below 4 GB.",
        "I don't think the second lock is needed.",
        "In our view the old bridge was the better one.",
        "The second setting is arguably redundant.",
        "For tunnels of about 2 km we would still prefer the older drill.",
    ],
)
def test_what_the_writer_thinks_is_an_opinion(text: str) -> None:
    assert claim_type(text) is ClaimType.OPINION


@pytest.mark.parametrize(
    "text",
    [
        "Such hosts send about 90 % of all spam.",
        "Die Brücke ist etwa 400 Meter lang.",
        "The cost is estimated at 4 million euros.",
        "An estimated 1,200 people live there.",
        "It was conservatively projected to last for decades.",
        "By some estimates the wall is older than the town.",
    ],
)
def test_what_is_no_exact_figure_is_an_estimate(text: str) -> None:
    assert claim_type(text) is ClaimType.ESTIMATE


@pytest.mark.parametrize(
    "text",
    [
        "The bridge is 412 metres long.",
        "“We think it is unsafe,” the inspector wrote.",
        "Critics believe that the bridge is unsafe.",
        "The planner prints the estimated number of rows.",
        "HEAD~2 is the commit before the parent.",
        "Some two-byte characters end with a backslash.",
        "On SunOS 4 the command is called trace.",
        "At least 3 servers are needed.",
        "",
    ],
)
def test_all_else_is_a_fact(text: str) -> None:
    assert claim_type(text) is ClaimType.FACT


def test_a_word_that_ends_like_a_bound_is_none() -> None:
    assert [figure.bound for figure in figures("SunOS 4 and v≈3 and about 5")] == ["", "about", "about"]


def test_a_name_that_ends_in_a_number_word_is_not_about_so_many() -> None:
    assert [figure.bound for figure in figures("c.two, ca.three, c. four and c.1900")] == ["", "", "about", "about"]


def test_a_sign_before_a_word_says_about() -> None:
    assert claim_type("The road is ~two kilometres long.") is ClaimType.ESTIMATE


def test_a_report_without_a_model_says_what_its_claims_are(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    texts = (
        "The Halden tunnel carries about 9,000 trains a year.",
        "The Halden tunnel was opened in 1931.",
        "We recommend the Halden tunnel to every visitor of the valley.",
    )
    (folder / "tunnel.html").write_text(f"<h1>The Halden tunnel</h1>{''.join(f'<p>{text}</p>' for text in texts)}")
    report = sync.research("What about the Halden tunnel?", source=f"local:{folder}", home=tmp_path / "home")
    kinds = {claim.text: claim.type for claim in report.claims}
    assert [kinds[text] for text in texts] == [ClaimType.ESTIMATE, ClaimType.FACT, ClaimType.OPINION]


_PIECES = (
    "about",
    "Around",
    "c.",
    "ca",
    "some",
    "~",
    "≈",
    "près de",
    "the",
    "$",
    " ",
    "12",
    "1,200",
    "two",
    "dozen",
    "canal",
)


@given(st.lists(st.sampled_from(_PIECES), max_size=8), st.sampled_from(("", " ")))
@example(["c.", "two"], "")
@example(["~", "two"], "")
def test_no_figure_is_bound_by_about_where_no_word_says_so(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    if any(figure.bound == "about" for figure in figures(text)):
        assert SAYS_ABOUT.search(text)
