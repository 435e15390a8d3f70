import pytest

from pincite.verification.statements import SentenceKind, chat_opening, is_factual, kind_of


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The plant makes 398 MW.", SentenceKind.FACT),
        ("VACUUM removes dead row versions.", SentenceKind.FACT),
        ("Overall, output rose by 12 percent in 2022.", SentenceKind.FACT),
        ("The following year the park was sold to Acme Energy.", SentenceKind.FACT),
        ("It was the largest park in Europe.", SentenceKind.FACT),
        ("This section describes the main findings.", SentenceKind.CONNECTIVE),
        ("In summary, several factors matter.", SentenceKind.CONNECTIVE),
        ("What does this mean for operators?", SentenceKind.CONNECTIVE),
        ("The main points are:", SentenceKind.CONNECTIVE),
        ("Conclusion", SentenceKind.CONNECTIVE),
        ("I think this is the best approach.", SentenceKind.OPINION),
        ("In our view, the design is elegant.", SentenceKind.OPINION),
        ("It is a truly amazing landscape, so beautiful.", SentenceKind.OPINION),
        ("Run the installer and restart the server.", SentenceKind.INSTRUCTION),
        ("See the manual for details.", SentenceKind.INSTRUCTION),
        ("Make sure that the file is readable.", SentenceKind.INSTRUCTION),
    ],
)
def test_kinds_of_sentences(sentence: str, kind: SentenceKind) -> None:
    assert kind_of(sentence) is kind
    assert is_factual(sentence) is (kind is SentenceKind.FACT)


def test_only_the_opening_of_a_chat_answer_is_taken_off() -> None:
    assert chat_opening("Yes, it is.") == "Yes, "
    assert chat_opening("No towns are near.") == ""
    assert chat_opening("Well water is clean.") in ("", "Well ")
