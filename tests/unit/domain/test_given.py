"""Words and lists that callers give stand for the values they mean, or are refused at the border."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from pincite import Engine, FetchRequest
from pincite.domain.errors import InvalidInput
from pincite.domain.fetch import Hosted, Render
from pincite.domain.given import check_request
from pincite.domain.search import Constraints, Depth, Query, Topic, since_of


def test_the_documented_words_are_taken() -> None:
    words: dict[str, Any] = {"render": "never", "hosted": "only", "exclude_domains": ["a.example"]}
    request = FetchRequest("https://a.example/", **words)
    assert (request.render, request.hosted, request.exclude_domains) == (Render.NEVER, Hosted.ONLY, ("a.example",))
    assert replace(request, render="always").render is Render.ALWAYS  # type: ignore[arg-type]  # a word is taken too
    limits: dict[str, Any] = {"include_domains": "a.example, b.example", "since": "2026-01-31"}
    query: dict[str, Any] = {"topic": "news", "depth": "advanced", "constraints": Constraints(**limits)}
    found = Query("locks", **query)
    assert (found.topic, found.depth) == (Topic.NEWS, Depth.ADVANCED)
    assert found.constraints.include_domains == ("a.example", "b.example")
    assert found.constraints.since == date(2026, 1, 31)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda **given: FetchRequest("https://a.example/", **given), {"render": "sometimes"}),
        (lambda **given: FetchRequest("https://a.example/", **given), {"hosted": None}),
        (lambda **given: FetchRequest("https://a.example/", **given), {"include_domains": 3}),
        (lambda **given: FetchRequest("https://a.example/", **given), {"exclude_domains": [1]}),
        (lambda **given: Query("locks", **given), {"topic": "sports"}),
        (lambda **given: Query("locks", **given), {"depth": "deep"}),
        (lambda **given: Constraints(**given), {"since": "yesterday"}),
        (lambda **given: Constraints(**given), {"until": 2026}),
    ],
)
def test_other_words_are_refused_by_name(make: Any, reason: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        make(**reason)
    assert refused.value.reason == next(iter(reason))


@pytest.mark.parametrize("given", [{"mode": "raw html"}, {"max_chars": "6000"}, {"output_format": "html"}])
def test_requests_with_other_values_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_request(FetchRequest("https://a.example/", **given))
    assert refused.value.reason == next(iter(given))


async def test_a_number_in_words_is_no_number_of_results(tmp_path: Any) -> None:
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{tmp_path}") as engine:
        with pytest.raises(InvalidInput, match="max_results"):
            await engine.search(Query("locks", max_results="5"))  # type: ignore[arg-type]  # what is refused


def test_time_ranges_by_their_names() -> None:
    today = date(2026, 1, 31)
    assert since_of("week", today) == since_of("w", today) == date(2026, 1, 24)
    with pytest.raises(InvalidInput, match="decade"):
        since_of("decade", today)
