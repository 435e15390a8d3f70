"""Near-duplicate clusters."""

import random

from pincite.text.similarity import cluster

WORDS = [f"word{n}" for n in range(400)]


def text(seed: int, length: int = 300) -> str:
    source = random.Random(seed)
    return " ".join(source.choice(WORDS) for _ in range(length))


def test_copies_join_the_first_and_others_stay_alone() -> None:
    first, other = text(1), text(2)
    edited = first.replace(first.split()[150], "changed", 1)
    assert cluster([first, other, first.upper() + " Shared.", edited, other]) == (0, 1, 0, 0, 1)


def test_half_the_text_is_not_a_copy() -> None:
    first = text(3)
    half = " ".join(first.split()[:150]) + " " + text(4, 150)
    assert cluster([first, half]) == (0, 1)


def test_short_and_empty_texts() -> None:
    assert cluster(["", "", "yes", "Yes!", "  "]) == (0, 1, 2, 2, 4)
    assert cluster([]) == ()


def test_recall_on_many_edited_copies() -> None:
    originals = [text(seed) for seed in range(100)]
    copies = [" ".join(word for n, word in enumerate(whole.split()) if n not in {40, 200}) for whole in originals]
    found = cluster(originals + copies)
    assert sum(found[100 + n] == n for n in range(100)) == 100


def test_few_texts_are_grouped_as_among_many() -> None:
    originals = [text(seed) for seed in range(20)]
    copies = [whole.replace(whole.split()[seed], "changed", 1) for seed, whole in enumerate(originals)]
    others = [text(seed, 40 + seed) for seed in range(500, 560)]
    few, many = originals + copies, originals + copies + others
    assert cluster(few) == cluster(many)[: len(few)] == tuple(range(20)) * 2
