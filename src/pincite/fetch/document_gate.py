"""Which readings are worth keeping as evidence: language, length, deny-list, boilerplate."""

import re

from pincite.domain.errors import EmptyContent
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document

_WORD = re.compile(r"\w+")
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTATION, BlockKind.DEFINITION, BlockKind.LIST_ITEM})
_CONTENT = _PROSE | {BlockKind.TABLE, BlockKind.CODE}
_BOILERPLATE = re.compile(
    r"\b(?:cookies?|privacy policy|terms of (?:use|service)|all rights reserved|sign in|log in|subscribe"
    r"|enable javascript|newsletter|accept all|copyright)\b",
    re.IGNORECASE,
)
# Of what is left of the page in characters. Chosen, not measured.
_BOILERPLATE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class DocumentGate:
    """Rules for readings. The default lets everything through that has a word in it.

    `languages` are language codes (an unknown language passes); `deny` are phrases, compared without case.
    """

    languages: tuple[str, ...] = ()
    min_words: int = 1
    deny: tuple[str, ...] = ()

    def check(self, document: Document) -> None:
        """Return when `document` may be used.

        Errors:
            EmptyContent: `language_not_allowed`, `too_few_words`, `deny_listed`, `boilerplate_only`.
        """
        # `en` allows `en-GB`, and the other way round.
        allowed = {code.lower().split("-", 1)[0] for code in self.languages}
        if allowed and document.language and document.language.lower().split("-", 1)[0] not in allowed:
            raise EmptyContent(f"the page is in {document.language}", reason="language_not_allowed")
        words = len(_WORD.findall(document.text))
        if words < self.min_words:
            raise EmptyContent(f"the page has {words} words", reason="too_few_words")
        lowered = document.text.lower()
        if any(phrase.lower() in lowered for phrase in self.deny):
            raise EmptyContent("the page has a phrase of the deny list", reason="deny_listed")
        if _is_boilerplate(document):
            raise EmptyContent("the page has nothing but notices", reason="boilerplate_only")


def _is_boilerplate(document: Document) -> bool:
    blocks = [block for block in document.blocks if block.kind in _CONTENT]
    total = sum(len(block.text) for block in blocks)
    notices = sum(len(block.text) for block in blocks if block.kind in _PROSE and _BOILERPLATE.search(block.text))
    return 0 < total < 600 and notices / total >= _BOILERPLATE_SHARE
