"""The natural language of a page that does not declare one: a cheap guess on enough prose."""

from collections.abc import Iterable

from pincite.domain.page import Block, BlockKind

_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.DEFINITION, BlockKind.LIST_ITEM, BlockKind.QUOTATION})
# 82 of 84 pages that declare a language were guessed right on 500 characters; more than 3,000 cost time only.
_LEAST_CHARS, _MOST_CHARS = 500, 3_000
# The guesser's distance: prose of a language it knows stays below. Chosen on the same pages.
_WORST_SCORE = 600


def language_of(blocks: Iterable[Block]) -> str:
    """The two-letter code, or nothing when there is too little prose or it fits no language well.

    Source: extraction figures: .908 right at 500 characters in 9 microseconds; a model would cost half a second once.
    """
    from resiliparse.parse.lang import detect_fast

    text = ""
    for block in blocks:
        if block.kind in _PROSE:
            text += f" {block.text}"
            if len(text) >= _MOST_CHARS:
                break
    if len(text) < _LEAST_CHARS:
        return ""
    code, score = detect_fast(text[:_MOST_CHARS])
    return code if score <= _WORST_SCORE and code != "unknown" else ""
