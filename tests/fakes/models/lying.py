"""A model that plants one kind of defect in otherwise honest work, and remembers what it planted."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pincite.domain.events import Json
from pincite.domain.report import Report
from pincite.testing.models import FaithfulModel, Seen

FALSE_NAME: Final = "Zarblonski"
FALSE_URL: Final = "https://invented.example/proof"
FALSE_NUMBER: Final = "73914"
FALSE_YEAR: Final = "1873"
OWN_KNOWLEDGE: Final = "The harbour of Quillmere was dredged by order of the council in winter."

Change = Callable[[str], str]
_NAME = re.compile(r"(?<=\s)(?:[A-Z][a-z]{3,}|[A-Z]{3,})\b")
_UNITS: Final[Mapping[str, str]] = {
    "bytes": "megabytes", "kB": "GB", "MB": "kB", "GB": "kB", "seconds": "hours", "milliseconds": "minutes",
    "minutes": "days", "hours": "seconds", "days": "years", "metres": "miles", "percent": "degrees", "%": " degrees",
}  # fmt: skip
_OPPOSITES: Final[Mapping[str, str]] = {
    "at least": "at most", "at most": "at least", "more than": "less than", "less than": "more than",
    "maximum": "minimum", "minimum": "maximum", "before": "after", "after": "before", "increase": "decrease",
}  # fmt: skip
_HEDGES: Final = re.compile(r"\b(?:may|might|can|could|usually|often|typically|sometimes|generally|probably)\b")
_NOT: Final = re.compile(r"\b(?:is|are|was|were|can|will|does|must|has|have)\b(?! not)")


@dataclass(frozen=True, slots=True)
class Planted:
    """A defect as it was planted: the whole false text, and the piece of it that no source has (empty: none)."""

    kind: str
    text: str
    piece: str = ""


@dataclass(frozen=True, slots=True)
class Defect:
    """One kind of lie: in which task it is told, and whether code decides it, also when the judge is in on it."""

    task: str
    decidable: bool = True


def _number(text: str) -> str:
    return re.sub(r"\d[\d,.]*\d|\d", FALSE_NUMBER, text, count=1) if re.search(r"\d", text) else ""


def _year(text: str) -> str:
    return (
        re.sub(r"\b(?:1[89]|20)\d\d\b", FALSE_YEAR, text, count=1) if re.search(r"\b(?:1[89]|20)\d\d\b", text) else ""
    )


def _added_year(text: str) -> str:
    return f"{text.rstrip('.')} since {FALSE_YEAR}."


def _name(text: str) -> str:
    return _NAME.sub(FALSE_NAME, text, count=1) if _NAME.search(text) else f"{FALSE_NAME} says that {text}"


def _unit(text: str) -> str:
    for unit, other in _UNITS.items():
        changed = re.sub(rf"(?<=\d)(\s?){re.escape(unit)}(?!\w)", rf"\g<1>{other}", text, count=1)
        if changed != text:
            return changed
    return ""


def _negated(text: str) -> str:
    return _NOT.sub(lambda match: f"{match.group()} not", text, count=1) if _NOT.search(text) else ""


def _unhedged(text: str) -> str:
    return _HEDGES.sub("always", text, count=1) if _HEDGES.search(text) else ""


def _quantified(text: str) -> str:
    return (
        re.sub(r"\b(?:some|many|most|several|a few)\b", "all", text, count=1, flags=re.I)
        if re.search(r"\b(?:some|many|most|several|a few)\b", text, re.I)
        else ""
    )


def _compared(text: str) -> str:
    for word, other in _OPPOSITES.items():
        if re.search(rf"\b{word}\b", text):
            return re.sub(rf"\b{word}\b", other, text, count=1)
    return ""


def _swapped(text: str) -> str:
    """The first two different names of the sentence in each other's place."""
    names = list(dict.fromkeys(_NAME.findall(text)))
    if len(names) < 2:
        return ""
    one, other = names[:2]
    return re.sub(rf"\b(?:{one}|{other})\b", lambda match: other if match.group() == one else one, text)


def _linked(text: str) -> str:
    return f"{text.rstrip('.')}, as {FALSE_URL} shows."


def _extended(text: str) -> str:
    return f"{text.rstrip('.')}, which made {FALSE_NAME} famous in Quillmere."


def _marked(text: str) -> str:
    return f"{text} [99]"


def _pictured(text: str) -> str:
    return f"{text} ![proof]({FALSE_URL})"


CHANGES: Final[Mapping[str, tuple[Change, str]]] = {
    "number": (_number, FALSE_NUMBER),
    "year": (_year, FALSE_YEAR),
    "added_year": (_added_year, FALSE_YEAR),
    "name": (_name, FALSE_NAME),
    "unit": (_unit, ""),
    "negation": (_negated, ""),
    "hedge": (_unhedged, ""),
    "quantifier": (_quantified, ""),
    "comparison": (_compared, ""),
    "swap": (_swapped, ""),
    "url": (_linked, FALSE_URL),
    "extension": (_extended, FALSE_NAME),
    "marker": (_marked, "[99]"),
    "image": (_pictured, FALSE_URL),
}
"""What is changed in a true sentence, and the piece that shows it."""
_EXACT: Final = frozenset({"number", "year", "added_year", "unit", "url", "marker", "image"})
"""What an exact fact decides, or what never stands in a line; all else is meaning, and a judge's to decide."""

DEFECTS: Final[Mapping[str, Defect]] = {
    **{f"claim_{name}": Defect("analyst", name in _EXACT) for name in CHANGES if name not in ("marker",)},
    **{f"sentence_{name}": Defect("writer", name in _EXACT) for name in CHANGES if name != "added_year"},
    "quote_altered": Defect("analyst"),
    "quote_foreign": Defect("analyst"),
    "quote_other_line": Defect("analyst", decidable=False),
    "line_unknown": Defect("analyst"),
    "claim_without_place": Defect("analyst"),
    "own_knowledge": Defect("analyst", decidable=False),
    "sentence_uncited": Defect("writer"),
    "sentence_unknown_claim": Defect("writer"),
    "sentence_other_claim": Defect("writer", decidable=False),
    "judge_always_sure": Defect("judge", decidable=False),
}
"""All kinds of defects by name."""


class LyingModel(FaithfulModel):
    """Plants the defect in every second claim or sentence, insists when asked to rewrite, and vouches for it as judge.

    Args:
        defect: a name of `DEFECTS`.
        latency_s: seconds before each answer.
    """

    def __init__(self, defect: str, *, latency_s: float = 0.0) -> None:
        super().__init__(latency_s=latency_s)
        self.defect = defect
        self.planted: list[Planted] = []
        self.honest: list[str] = []
        """True claims that were proposed, word for word from a page."""

    def judge_statements(self, seen: Seen) -> Json:
        """Sure of everything."""
        return {
            "statements": [
                {"id": name, "label": "states", "lines": [], "alone": True, "answers": True}
                for name in seen.lines
                if name[:1] == "c" and name[1:].isdecimal()
            ]
        }

    def lied(self, text: str) -> bool:
        """Whether the text is, or holds, one of its lies."""
        bare = _bare(text)
        return any(_bare(item.text) in bare for item in self.planted)

    def judge(self, seen: Seen) -> Json:
        """Sure of everything."""
        return {
            "cases": [
                {"id": name.removesuffix(" claim"), "entailed": 1.0} for name in seen.lines if name.endswith(" claim")
            ]
        }

    def analyse(self, seen: Seen) -> Json:
        """Honest claims, every second one spoiled where the defect is one of claims."""
        found = super().analyse(seen)
        assert isinstance(found, dict)
        claims = found["claims"]
        assert isinstance(claims, list)
        spoil = DEFECTS[self.defect].task == "analyst"
        for index, claim in enumerate(claims):
            assert isinstance(claim, dict)
            if not (spoil and index % 2 == 0 and self._spoil_claim(claim, seen)):
                self.honest.append(str(claim["text"]))
        if self.defect == "judge_always_sure":
            claims.append(self._own_knowledge(seen))
        return found

    def write(self, seen: Seen) -> Json:
        """Honest sentences, every second one spoiled where the defect is one of sentences."""
        written = super().write(seen)
        assert isinstance(written, dict)
        sentences = written["sentences"]
        assert isinstance(sentences, list)
        if DEFECTS[self.defect].task == "writer":
            for sentence in sentences[::2]:
                assert isinstance(sentence, dict)
                self._spoil_sentence(sentence, seen)
        return written

    def rewrite(self, seen: Seen) -> Json:
        """The failed sentences once more, as they were."""
        return {
            "repairs": [
                {
                    "id": name.removesuffix(" sentence"),
                    "text": text,
                    "claims": [seen.lines.get(name.replace("sentence", "may tell"), "c1").split(",")[0]],
                }
                for name, text in seen.lines.items()
                if name.endswith(" sentence")
            ]
        }

    def _spoil_claim(self, claim: dict[str, Json], seen: Seen) -> bool:
        """Make the claim false in its way; whether that was possible."""
        text = str(claim["text"])
        if self.defect.startswith("claim_") and self.defect.removeprefix("claim_") in CHANGES:
            change, piece = CHANGES[self.defect.removeprefix("claim_")]
            changed = change(text)
            if not changed or changed == text:
                return False
            claim["text"] = changed
            self.planted.append(Planted(self.defect, changed, piece))
            return True
        words = text.split()
        match self.defect:
            case "quote_altered":
                middle = len(words) // 2
                altered = " ".join([*words[:middle], FALSE_NAME.lower(), *words[middle + 1 :]])
                claim.update({"lines": [], "quote": altered, "text": altered})
                piece = FALSE_NAME.lower()
            case "quote_foreign" | "own_knowledge":
                claim["text"] = OWN_KNOWLEDGE
                if self.defect == "quote_foreign":
                    claim.update({"lines": [], "quote": OWN_KNOWLEDGE})
                piece = "Quillmere"
            case "quote_other_line":
                other = [name for name, line in seen.lines.items() if name not in claim["lines"] and len(line) > 20]  # type: ignore[operator]  # JSON that this class wrote
                if not other:
                    return False
                claim.update({"text": f"{FALSE_NAME} holds that {text}", "lines": [other[-1]]})
                piece = FALSE_NAME
            case "line_unknown":
                claim.update({"text": f"{FALSE_NAME} holds that {text}", "lines": ["s9999", "c1"]})
                piece = FALSE_NAME
            case "claim_without_place":
                claim.update({"text": f"{FALSE_NAME} holds that {text}", "lines": []})
                piece = FALSE_NAME
            case _:
                return False
        self.planted.append(Planted(self.defect, str(claim["text"]), piece))
        return True

    def _own_knowledge(self, seen: Seen) -> Json:
        self.planted.append(Planted(self.defect, OWN_KNOWLEDGE, "Quillmere"))
        lines: list[Json] = [next(iter(seen.lines), "s1")]
        return {"text": OWN_KNOWLEDGE, "part": "1", "lines": lines, "quote": "", "kind": "fact", "confidence": 1.0}

    def _spoil_sentence(self, sentence: dict[str, Json], seen: Seen) -> None:
        text, claims = str(sentence["text"]), sentence["claims"]
        piece = FALSE_NAME
        if self.defect == "sentence_uncited":
            sentence.update({"text": f"{FALSE_NAME} holds that {text}", "claims": []})
        elif self.defect == "sentence_unknown_claim":
            sentence.update({"text": f"{FALSE_NAME} holds that {text}", "claims": ["c999", "claim_0"]})
        elif self.defect == "sentence_other_claim":
            others = [n for n in seen.statements if [n] != claims]
            if not others:
                return
            sentence.update({"text": OWN_KNOWLEDGE, "claims": [others[-1]]})
            piece = "Quillmere"
        else:
            change, piece = CHANGES[self.defect.removeprefix("sentence_")]
            changed = change(text)
            if not changed or changed == text:
                return
            sentence["text"] = changed
        self.planted.append(Planted(self.defect, str(sentence["text"]), piece))


def leaks(report: Report, planted: Sequence[Planted]) -> tuple[Planted, ...]:
    """The planted defects that the report prints: in a sentence, a heading, a claim or a link."""
    said = [_bare(sentence.text) for sentence in report.sentences()]
    said += [_bare(claim.text) for claim in report.claims] + [_bare(section.heading) for section in report.sections]
    findings = report.markdown.split("\n## ", 1)[0] + " ".join(
        [sentence.text for sentence in report.sentences()] + [section.heading for section in report.sections]
    )
    found = []
    for item in planted:
        whole = _bare(item.text)
        if (item.piece and item.piece.lower() in findings.lower()) or (
            not item.piece and any(whole == text or whole in text for text in said)
        ):
            found.append(item)
    return tuple(dict.fromkeys(found))


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
