"""Which blocks of a web page are its content.

A content extractor (trafilatura, or resiliparse where it found next to nothing) says which text counts; our own walk
says how it is built. The two are brought together by word sequences, so that code, quotations, captions, definition
lists and repeated paragraphs inside the chosen region are kept as they stand on the page.
"""

import re
from collections.abc import Sequence

from lxml.html import HtmlElement

from pincite.domain.page import BlockKind
from pincite.fetch.extractors.blocks import Found

_WORD = re.compile(r"\w+")
_RUN = 3
_KEPT_SHARE = 0.5
_POOR_SHARE = 0.1
_GAP = 3
_STRUCTURAL = frozenset(
    {BlockKind.CODE, BlockKind.QUOTATION, BlockKind.CAPTION, BlockKind.TERM, BlockKind.DEFINITION, BlockKind.TABLE}
)


def chosen_text(root: HtmlElement, url: str) -> str:
    """The text a content extractor picks from the page."""
    import trafilatura

    chosen = trafilatura.bare_extraction(root, url=url, include_comments=True, include_tables=True)
    text = ""
    if isinstance(chosen, trafilatura.settings.Document):
        text = "\n".join(filter(None, (chosen.text, chosen.comments)))
    from lxml import etree
    from resiliparse.extract.html2text import extract_plain_text

    rescue = extract_plain_text(etree.tostring(root, encoding="unicode", method="html"), main_content=True)
    return rescue if len(text.split()) < _POOR_SHARE * len(rescue.split()) else text


def select(found: Sequence[Found], text: str) -> list[Found]:
    """The blocks whose words stand in `text`, and the structural ones between them."""
    words = _WORD.findall(text.lower())
    runs = {tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}
    lines = {" ".join(_WORD.findall(line.lower())) for line in text.splitlines()}
    kept = [_stands_in(item, runs, lines) for item in found]
    for index, item in enumerate(found):
        if not kept[index] and item.block.kind in _STRUCTURAL:
            near = kept[max(index - _GAP, 0) : index], kept[index + 1 : index + 1 + _GAP]
            kept[index] = any(near[0]) and any(near[1])
    return [item for item, keep in zip(found, kept, strict=True) if keep]


def _stands_in(item: Found, runs: set[tuple[str, ...]], lines: set[str]) -> bool:
    words = _WORD.findall(item.block.text.lower())
    if len(words) < _RUN:
        return bool(words) and " ".join(words) in lines
    total = len(words) - _RUN + 1
    return sum(tuple(words[i : i + _RUN]) in runs for i in range(total)) >= _KEPT_SHARE * total
