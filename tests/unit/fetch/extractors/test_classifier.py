"""The trees fit the features; the threshold of a page follows how clear its blocks are."""

import inspect
import re
from hashlib import sha256

from pincite.fetch.extractors import content_trees, extract
from pincite.fetch.extractors.features import FEATURES, is_made_of_records
from pincite.fetch.extractors.layout import agreed, best_threshold
from pincite.fetch.extractors.main_content import content_odds


def test_trees_were_trained_on_the_features_there_are() -> None:
    assert sha256("\n".join(FEATURES).encode()).hexdigest()[:16] == content_trees.FEATURES_SHA256
    for log_odds in (content_trees.one, content_trees.both):
        asked = {int(place) for place in re.findall(r"\br\[(\d+)\]", inspect.getsource(log_odds))}
        assert len(asked) > 20
        assert max(asked) < len(FEATURES)


def test_what_both_extractors_chose_is_likelier_content() -> None:
    neither = dict.fromkeys(FEATURES, 0.0) | {"log_words": 3.5, "page_main_ratio": 0.4, "page_second_ratio": 0.4}
    both = neither | {
        "main_share": 1.0, "second_share": 1.0, "main_near": 1.0, "second_near": 1.0, "parent_main": 1.0,
        "main_prev": 1.0, "main_next": 1.0, "ends_sentence": 1.0, "grand_main": 1.0, "great_main": 1.0,
        "great_second": 1.0, "second_prev": 1.0, "second_next": 1.0, "kind_paragraph": 1.0,
    }  # fmt: skip
    for log_odds in (content_trees.one, content_trees.both):
        low, high = content_odds([tuple(neither.values()), tuple(both.values())], log_odds)
        assert low < 0.5 < high


def test_threshold_is_near_a_half_when_clear_and_falls_when_not() -> None:
    assert best_threshold([0.95, 0.9, 0.02, 0.01], [50, 50, 50, 50])[0] == 0.9
    assert best_threshold([0.4, 0.38, 0.35, 0.02], [10, 10, 10, 10])[0] == 0.35
    assert best_threshold([], []) == (1.0, 0.0)


def test_blocks_of_one_kind_move_together() -> None:
    odds, sizes = [0.9, 0.9, 0.1, 0.5, 0.5], [10, 10, 10, 1, 1]
    moved = agreed(odds, sizes, ["post", "post", "post", "pair", "pair"])
    assert moved[3:] == [0.5, 0.5]
    assert moved[0] == moved[1] < 0.9
    assert moved[2] > 0.1


def test_only_pages_that_say_so_are_taken_for_records() -> None:
    assert is_made_of_records(frozenset({"says:forum"}))
    assert is_made_of_records(frozenset({"Product"}))
    assert not is_made_of_records(frozenset({"says:list", "NewsArticle"}))
    assert not is_made_of_records(frozenset({"WebPage"}))


def test_a_tiny_page_is_read_whole_but_for_what_surrounds_it() -> None:
    document = extract(
        b"<html><head><title>Lamp</title></head><body><nav><a href=/>Home</a> Menu</nav><h1>Lamp 500</h1>"
        b"<div class=price>49.90 EUR</div><ul><li>IP67<li>2.1 kg</ul><footer>Rights reserved</footer></body></html>",
        "https://shop.example/lamp",
    )
    assert document.text == "Lamp 500\n\n49.90 EUR\n\nIP67\n\n2.1 kg"
