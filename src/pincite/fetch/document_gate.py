"""Which readings are worth keeping as evidence: language, length, deny-list, boilerplate."""

import re

from pincite.domain.errors import EmptyContent
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document, Snapshot

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


# Whether a page is an empty shell that only a browser would fill.

_LIBRARY = "archive"
# "Please enable JavaScript" and a menu; any text of a page has more.
_SHELL_TEXT_CHARS = 200
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_SCRIPTS = re.compile(rb"<script\b.*?(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# Where scripts put what they make: a named container, an element of their own kind, or the whole body. An empty
# element without a name is a spacer.
_EMPTY_ROOT = re.compile(
    rb"<(?:(?:div|section)\b(?=[^<>]{0,500}\s(?:id|data-[\w-]{1,60}|ng-app)\b)|main\b|body\b|[a-z]{1,30}-[a-z-]{1,40}\b)"
    rb"[^<>]{0,500}>\s{0,200}(?:<!--[^<>]{0,500}-->\s{0,200})?</(?:div|main|section|body|[a-z]{1,30}-[a-z-]{1,40})>",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript[^<>]{0,200}>[^<]{0,400}\bjavascript\b", re.IGNORECASE)
# Where frameworks leave their marks: root elements and first scripts.
_HEAD_BYTES = 300_000


def needs_rendering(snapshot: Snapshot, document: Document | None) -> bool:
    """Whether the static page has next to no text, or text only in its data, and the marks of one that scripts build.

    Never a library's page.

    Args:
        snapshot: the answer as it came.
        document: what was read out of it; None when nothing could be.
    """
    if snapshot.via == _LIBRARY or "html" not in snapshot.content_type.lower():
        return False
    if document and len(document.text) >= _SHELL_TEXT_CHARS and not document.warnings:
        return False
    head = snapshot.body[:_HEAD_BYTES]
    if not _SCRIPT.search(head):
        return False
    if document and document.warnings:  # its text is not what the markup shows
        return True
    return bool(_NOSCRIPT.search(head) or _EMPTY_ROOT.search(_SCRIPTS.sub(b" ", head)))
