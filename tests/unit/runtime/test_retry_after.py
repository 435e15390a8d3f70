from datetime import UTC, datetime

import pytest

from pincite.runtime.recovery import retry_after_s

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("Sat, 21 Nov 2026 12:01:00 GMT", 60),
        ("Sat, 21 Nov 2026 12:01:00 -0000", 60),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0),
        ("Sat, 32 Nov 2026 12:01:00 GMT", None),
        ("soon", None),
        ("nan", None),
        ("-3", None),
        ("1e9", None),
        ("\u0661\u0662", None),
        ("99999999999", None),
        ("", None),
        (None, None),
    ],
)
def test_seconds_and_dates_count(header: str | None, wait_s: float | None) -> None:
    assert retry_after_s(header, NOW) == wait_s
