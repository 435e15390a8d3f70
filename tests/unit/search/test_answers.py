from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.search import Query
from pincite.search.results import Row, build_response, clean, money, parse_date

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-03", "2026-11-03"),
        ("2026-11-19T08:00:00", "2026-11-19"),
        ("2026-10-02T00:00:00.000Z", "2026-10-02"),
        ("Tue, 03 Nov 2026 10:00:00 GMT", "2026-11-03"),
        ("Nov 3, 2026", "2026-11-03"),
        ("3 November 2026", "2026-11-03"),
        ("2 days ago", "2026-11-19"),
        ("3 hours ago", "2026-11-21"),
        ("1 week ago", "2026-11-14"),
        ("yesterday", "2026-11-20"),
        ("soon", None),
        ("", None),
        ("0001-01-01", None),
        ("9999-12-31", None),
        (20261103, None),
    ],
)
def test_dates_as_engines_write_them(text: object, day: str | None) -> None:
    found = parse_date(text, NOW)
    assert (found.date().isoformat() if found else None) == day


@given(st.lists(st.builds(Row, ANYTHING, ANYTHING, ANYTHING, ANYTHING, ANYTHING), max_size=5))
def test_rows_of_any_type_never_break_the_response(rows: list[Row]) -> None:
    response = build_response("exa", Query("pool", max_results=3), rows, NOW)
    assert len(response.results) <= 3
    assert sum(response.info.dropped.values()) + len(response.results) <= len(rows)
    assert all(hit.title and hit.url.startswith(("http://", "https://")) for hit in response.results)


@pytest.mark.parametrize(
    "url",
    [
        "/relative",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "http://10.0.0.1/x",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "https://user:pass@example.org/",
        "http://localhost/",
        "ftp://example.org/",
        "",
        None,
        7,
    ],
)
def test_urls_that_can_not_be_pages_are_dropped_and_counted(url: object) -> None:
    response = build_response("exa", Query("pool"), [Row("t", url, "s")], NOW)
    assert response.results == ()
    assert sum(response.info.dropped.values()) == 1
    assert [item.reason for item in response.info.left_out] == (list(response.info.dropped) if url and url != 7 else [])


def test_what_was_left_out_is_named_without_its_secrets_and_bounded() -> None:
    rows = [Row(f"Page {n}", f"http://example.org:81{n:02}/?api_key=abcdef0123456789abcdef", "s") for n in range(30)]
    info = build_response("exa", Query("pool"), rows, NOW).info
    assert info.dropped == {"port_denied": 30}
    assert len(info.left_out) == 10
    assert info.left_out[0].title == "Page 0"
    assert "example.org:8100" in info.left_out[0].url
    assert "abcdef0123456789" not in info.left_out[0].url


@given(st.text(max_size=3000), st.integers(10, 400))
def test_clean_text_is_one_short_line(text: str, most: int) -> None:
    found = clean(text, most)
    assert len(found) <= most
    assert "\n" not in found
    assert found == found.strip()


def test_markup_and_invisible_characters_go() -> None:
    assert clean("A <b>bold</b> &amp; &lt;i&gt;odd&lt;/i&gt;\u202e\x00 text", 100) == "A bold & odd text"
    assert clean("if a < b and c > d", 100) == "if a < b and c > d"


@pytest.mark.parametrize("value", [True, None, "x", float("nan"), float("inf"), -1, [], 10**9])
def test_amounts_that_are_none(value: object) -> None:
    assert money(value) is None
