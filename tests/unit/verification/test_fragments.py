from urllib.parse import unquote

from pincite.text.fragments import fragment_url

PAGE = (
    "Wind power in numbers\n\nThe Havel park makes 398 MW - enough for 200,000 homes. It opened in March 2019, and it "
    "cost a lot.\n\nIt opened in May.\n\nThe Orla park is old. It opened in May of 1990."
)
URL = "https://example.org/wind"


def fragment(passage: str, occurrence: int = 0) -> str:
    start = -1
    for _ in range(occurrence + 1):
        start = PAGE.index(passage, start + 1)
    return fragment_url(URL, PAGE, start, start + len(passage))


def test_a_unique_passage_is_named_whole_and_encoded() -> None:
    url = fragment("The Havel park makes 398 MW - enough for 200,000 homes.")
    assert url.startswith(f"{URL}#:~:text=")
    assert "%2D" in url
    assert "%2C" in url
    assert unquote(url.split("text=")[1]) == "The Havel park makes 398 MW - enough for 200,000 homes."


def test_a_span_inside_words_grows_to_whole_words() -> None:
    start = PAGE.index("avel park makes 398")
    assert "The" not in fragment_url(URL, PAGE, start, start + 19)
    assert "Havel%20park%20makes%20398" in fragment_url(URL, PAGE, start, start + 19)


def test_short_or_repeated_passages_get_context_or_nothing() -> None:
    assert fragment("It opened in May", 1) == f"{URL}#:~:text=park%20is%20old.-,It%20opened%20in%20May,-of%201990."
    assert fragment("It opened in May", 0) == ""
    assert fragment("398 MW").endswith("text=Havel%20park%20makes-,398%20MW,-%2D%20enough%20for")


def test_several_blocks_become_a_range() -> None:
    start = PAGE.index("The Havel")
    end = PAGE.index("The Orla") + len("The Orla park is old.")
    url = fragment_url(URL, PAGE, start, end)
    assert url == f"{URL}#:~:text=The%20Havel%20park%20makes%20398,The%20Orla%20park%20is%20old."


def test_an_anchor_is_kept_and_an_old_fragment_replaced() -> None:
    start = PAGE.index("The Orla park is old.")
    url = fragment_url(f"{URL}#intro:~:text=x", PAGE, start, start + 21)
    assert url.startswith(f"{URL}#intro:~:text=The%20Orla")


def test_nothing_to_point_at_gives_nothing() -> None:
    assert fragment_url(URL, PAGE, 5, 5) == "" or "text=" in fragment_url(URL, PAGE, 5, 5)
    assert fragment_url(URL, "a\n\na", 0, 1) == ""
