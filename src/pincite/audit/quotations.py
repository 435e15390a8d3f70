"""Words in quotation marks: do they stand on a page, letter by letter?"""

import re
from collections.abc import Mapping, Sequence

from pincite.audit.findings import AuditedSentence, AuditVerdict
from pincite.audit.parse import ReportSentence
from pincite.domain.page import Document
from pincite.text.normalise import fold
from pincite.verification.quotes import locate, locate_near

_QUOTATION = re.compile(r'"([^"\n]{1,600})"')
_QUOTED_WORDS = 4
_TITLE_SHARE = 0.6
_TITLE_WORDS = 12
_EDGES = " .,;:\"'“”‘’"


def misquoted(sentence: ReportSentence, cited: Sequence[int], pages: Mapping[int, Document]) -> AuditedSentence | None:
    """The finding when a quotation of the sentence is on none of the pages word for word."""
    for quotation in quotations(sentence.claim):
        if any(locate(quotation, page.text) is not None for page in pages.values()):
            continue
        detail, passage = f'"{quotation}" is on no page that was read', ""
        for index in cited:
            near = locate_near(quotation, pages[index].text)
            if near is not None:
                words = " ".join(near.text.split()).strip(_EDGES)
                detail, passage = f'"{quotation}" is not verbatim; the page says "{words}"', near.text
                break
        return AuditedSentence(
            sentence.start, sentence.end, sentence.claim, AuditVerdict.MISQUOTED, detail,
            sentence.references, sentence.missing, passage=passage,
        )  # fmt: skip
    return None


def quotations(claim: str) -> list[str]:
    """The texts in quotation marks that are long enough to be quotations, and not titles of works."""
    found = (match.group(1).strip() for match in _QUOTATION.finditer(fold(claim).text))
    return [text for text in found if len(text.split()) >= _QUOTED_WORDS and not _title(text)]


def _title(text: str) -> bool:
    """Whether most of the longer words are capitalised, as in the name of a song or a book."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    return (
        bool(words)
        and len(text.split()) <= _TITLE_WORDS
        and sum(word[0].isupper() for word in words) >= _TITLE_SHARE * len(words)
    )
