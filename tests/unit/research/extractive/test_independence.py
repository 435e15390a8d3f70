from pincite.research.extractive.versions import Backing, groups, independent_count

STORY = (
    "The Havel wind park was shut down on Monday after a fire in one of its turbines, the operator said. No one was "
    "hurt. Repairs will take three weeks, and the other turbines will run again from Thursday, according to a note "
    "to investors. The park makes enough power for two hundred thousand homes in the north of the country."
)
OTHER = (
    "A spokesman of the fire service told us that the blaze was out within two hours. Neighbours had seen smoke over "
    "the turbines in the early morning. Experts from the maker arrived from Denmark to look for the cause of it."
)


def test_copies_mirrors_and_one_publisher_count_once() -> None:
    backings = [
        Backing("https://news.example.org/a", STORY),
        Backing("https://www.paper.example.com/b", STORY + " Copyright of the agency."),
        Backing("https://blog.example.org/c", OTHER),
        Backing(
            "https://www.independent.example.net/d",
            OTHER + " ".join(f"Line {n} of the log tells about step {n * 7}." for n in range(60)),
        ),
    ]
    assert groups(backings) == (0, 0, 0, 3)
    assert independent_count(backings) == 2


def test_a_long_passage_shared_word_for_word_was_written_once() -> None:
    passage = "the park makes enough power for two hundred thousand homes in the north"
    first = Backing("https://a.example.com/", "One text about wind. " * 30, passage)
    second = Backing("https://b.example.net/", "Another text about fire. " * 30, passage.upper())
    assert independent_count([first, second]) == 1
    assert independent_count([first, Backing("https://b.example.net/", "Another text. " * 30, "398 MW")]) == 2


def test_nothing_is_backed_by_nothing() -> None:
    assert groups([]) == ()
    assert independent_count([Backing("not a url", "")]) == 1
