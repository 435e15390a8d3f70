import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["The plant opened in 2019.", "It makes 412 MW."],
        ["Dr. Smith met Mr. J. R. Jones at 5 p.m. on Jan. 5 in St. Louis.", "They talked."],
        ["It grew by 3.5 percent.", "Version 3.11.2 came out."],
        ["See https://example.org/a.b?c=d. for details."],
        ['He said "Stop."', "Then he left."],
        ["Is it so?", "Yes!", "Good."],
        ["The U.S. Senate voted.", "The bill passed."],
        ["He lives in the U.S.", "The law there differs."],
        ["Acme Inc. said it would sell.", "Shares fell."],
        ["He works for Acme Inc.", "The firm is old."],
        ["发电厂于二〇一九年启用。", "功率为四百兆瓦！"],
        ["It was cited before.[3]", "Others disagree.[4, 5]"],
        ["Plants, e.g. Fig. 3 and No. 5, are green.", "So are leaves."],
        ["He waited ... and waited.", "Nothing."],
        ["The answer is no.", "The reason is cost."],
        ["Yahoo! is a company.", "It is old."],
        ["Das ist z.B. richtig.", "Der Rest nicht."],
        ["It was version 2.", "Later came 3."],
        ["**Bold ends here.**", "Plain goes on."],
        ["He waits until the admin steps in.", "Local users may write."],
        ["The board is 5 in. wide and thin.", "It is old."],
        ["It is slow.", "pg_dump takes a lock.", "iOS does not.", "os.path is older."],
        ["Das Fest ist am 18. Juli, bei Regen am 25. Juli.", "Der Eintritt ist frei."],
        ["Mitglied wird, wer das 10. Lebensjahr vollendet hat.", "Im 19. Jahrhundert galt das nicht."],
        ["Der Preis stieg auf 12.", "Heller verkaufte 3.", "Es war der 3.", "Die Bahn kam."],
        ["25.1.2. Recovering space takes time.", "It is slow."],
    ],
)
def test_sentences_of_one_paragraph(parts: list[str]) -> None:
    space = "" if parts[0].endswith("。") else " "
    assert cut(space.join(parts)) == parts


def test_a_blank_line_and_a_list_item_end_a_sentence() -> None:
    assert cut("A heading\n\nThe text goes\non here") == ["A heading", "The text goes\non here"]
    assert cut("They include:\n- one thing\n- another thing\n1. a third") == [
        "They include:",
        "- one thing",
        "- another thing",
        "1. a third",
    ]


def test_nothing_gives_nothing() -> None:
    assert sentences("") == ()
    assert sentences(" \n\n\t ") == ()


@given(st.one_of(st.text(alphabet='aB1.!?"” \n()[]。-…'), st.text()))
def test_spans_are_ordered_trimmed_and_cover_everything_but_space(text: str) -> None:
    spans = sentences(text)
    position = 0
    for span in spans:
        assert position <= span.start < span.end <= len(text)
        assert not text[position : span.start].strip()
        assert text[span.start : span.end].strip() == text[span.start : span.end]
        assert "\n\n" not in text[span.start : span.end]
        position = span.end
    assert not text[position:].strip()
