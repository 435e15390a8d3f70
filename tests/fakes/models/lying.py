"""A model that plants one kind of defect in otherwise honest work, and remembers what it planted."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pincite.domain.events import Json
from pincite.domain.report import Report
from pincite.testing.models import FaithfulModel, Seen, block, composed, paragraph, said, section, table

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
    """One kind of lie: where it is told, and whether code decides it, also when the judge is in on it."""

    place: str
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

PLACES: Final = ("answer", "sentence", "item", "cell")
"""Where in a report a changed sentence may stand."""
_ELSEWHERE: Final = ("number", "name", "negation", "url")

DEFECTS: Final[Mapping[str, Defect]] = {
    **{f"sentence_{name}": Defect("sentence", name in _EXACT) for name in CHANGES},
    **{
        f"{place}_{name}": Defect(place, name in _EXACT)
        for place in PLACES
        if place != "sentence"
        for name in _ELSEWHERE
    },
    "derived_number": Defect("sentence"),
    "derived_negation": Defect("sentence", decidable=False),
    "sentence_uncited": Defect("sentence"),
    "sentence_unknown_line": Defect("sentence"),
    "sentence_other_line": Defect("sentence", decidable=False),
    "own_knowledge": Defect("sentence", decidable=False),
    "row_name": Defect("row", decidable=False),
    "column_name": Defect("column", decidable=False),
    "heading_name": Defect("heading"),
    "heading_number": Defect("heading"),
    "missing_number": Defect("missing"),
    "missing_name": Defect("missing"),
    "missing_url": Defect("missing"),
    "repair_number": Defect("repair"),
    "repair_negation": Defect("repair", decidable=False),
}
"""All kinds of defects by name."""


class LyingModel(FaithfulModel):
    """Plants the defect in every second thing it tells, insists when asked to rewrite, and vouches for it as judge.

    Args:
        defect: a name of `DEFECTS`.
        latency_s: seconds before each answer.
    """

    def __init__(self, defect: str, *, latency_s: float = 0.0) -> None:
        super().__init__(latency_s=latency_s)
        self.defect = defect
        self.planted: list[Planted] = []
        self.honest: list[str] = []
        """True sentences that it told."""

    def judge_statements(self, seen: Seen) -> Json:
        """Sure of everything."""
        return sure_of_all(seen)

    def lied(self, text: str) -> bool:
        """Whether the text is, or holds, one of its lies."""
        bare = _bare(text)
        return any(_bare(item.piece or item.text) in bare for item in self.planted)

    def compose(self, seen: Seen) -> Json:
        """Honest sentences, items and cells, every second one spoiled where the defect is one of them."""
        place, kind = DEFECTS[self.defect].place, self.defect.split("_", 1)[1]
        told = [said(text, name) for name, text in self.best_lines(seen)]
        cut = max(len(told) // 3, 1)
        groups = {"answer": told[:2], "sentence": told[2 : 2 + cut], "item": told[2 + cut : 2 + 2 * cut]}
        groups["cell"] = told[2 + 2 * cut :]
        if place in ("sentence", "repair") and not groups["sentence"]:
            groups["sentence"] = told
        for name, group in groups.items():
            for number, sentence in enumerate(group):
                if number % 2 == 0 and name == place:
                    self._spoil(sentence, kind, seen)
                elif number % 2 == 0 and name == "sentence" and place == "repair":
                    self._spoil(sentence, "number", seen)
                else:
                    self.honest.append(str(sentence["text"]))
        heading = "What is known"
        if place == "heading":
            heading = self._planted(
                f"Why {FALSE_NAME} built it" if kind == "name" else f"Seen by {FALSE_NUMBER} people"
            )
        rows: dict[str, list[Json]] = {f"Row {'abcdefgh'[n % 8]}": [cell] for n, cell in enumerate(groups["cell"])}
        if place == "row":
            rows = {self._planted(f"{FALSE_NAME} of Quillmere"): [cell] for cell in groups["cell"] or told}
        column = self._planted(f"{FALSE_NAME} says") if place == "column" else "What is said"
        sections: list[Json] = [
            section(heading, paragraph(*groups["sentence"]), block("list", *groups["item"])),
            section("Compared", table(("Thing", column), rows)),
        ]
        what = {"number": f"whether {FALSE_NUMBER} people saw it", "name": f"why {FALSE_NAME} built it"}
        lacking = what.get(kind, f"what {FALSE_URL} shows")
        missing: list[Json] = [
            {"part": name, "what": self._planted(lacking), "queries": [text], "question": lacking}
            for name, text in seen.parts.items()
            if place == "missing"
        ]
        return composed(groups["answer"], sections, missing)

    def rewrite(self, seen: Seen) -> Json:
        """The failed sentences once more, as they were, or with another lie."""
        repairs: list[Json] = []
        for name, text in seen.lines.items():
            if name.endswith(" sentence"):
                number = name.removesuffix(" sentence")
                lines: list[Json] = [seen.lines.get(f"{number} may rest on", "a1").split(",")[0]]
                if self.defect == "sentence_unknown_line":
                    lines = ["zz999"]
                if DEFECTS[self.defect].place == "repair":
                    true = seen.blocks.get("Passages", {}).get(str(lines[0]), text).rsplit(" > ", 1)[-1]
                    change, piece = CHANGES[self.defect.removeprefix("repair_")]
                    text = change(true) or text
                    self.planted.append(Planted(self.defect, text, piece))
                repairs.append({"id": number, "text": text, "lines": lines})
        return {"repairs": repairs}

    def _planted(self, text: str) -> str:
        """The text as a lie whose false words no page has."""
        piece = next(piece for piece in (FALSE_URL, FALSE_NAME, FALSE_NUMBER) if piece in text)
        self.planted.append(Planted(self.defect, text, piece))
        return text

    def _spoil(self, sentence: dict[str, Json], kind: str, seen: Seen) -> None:
        """Make the sentence false in its way, where that is possible."""
        text, piece = str(sentence["text"]), FALSE_NAME
        if self.defect == "sentence_uncited":
            sentence.update({"text": f"{FALSE_NAME} holds that {text}", "lines": []})
        elif self.defect == "sentence_unknown_line":
            sentence.update({"text": f"{FALSE_NAME} holds that {text}", "lines": ["zz999", "line_0"]})
        elif self.defect in ("sentence_other_line", "own_knowledge"):
            others: list[Json] = [name for name in seen.citable if [name] != sentence["lines"]]
            other = others[-1:] if self.defect == "sentence_other_line" else others[:1]
            sentence.update({"text": OWN_KNOWLEDGE, "lines": other})
            piece = "Quillmere"
        else:
            change, piece = CHANGES[kind]
            changed = change(text)
            if not changed or changed == text:
                self.honest.append(text)
                return
            sentence["text"] = changed
            if self.defect.startswith("derived"):
                named = cast("list[Json]", sentence["lines"])
                more: list[Json] = [*named, *cast("list[Json]", [*seen.citable])][:3]
                sentence.update({"derived": True, "lines": more})
        self.planted.append(Planted(self.defect, str(sentence["text"]), piece))


def sure_of_all(seen: Seen) -> Json:
    """A judge's answer that finds everything stated."""
    return {
        "statements": [
            {"id": name, "label": "states", "lines": [], "alone": True, "answers": True}
            for name in seen.lines
            if name[:1] == "c" and name[1:].isdecimal()
        ]
    }


def leaks(report: Report, planted: Sequence[Planted]) -> tuple[Planted, ...]:
    """The planted defects that the report prints: in a sentence, a heading, a table, a claim, a gap or a conflict."""
    said = [sentence.text for sentence in report.sentences()] + [claim.text for claim in report.claims]
    for part in report.sections:
        said.append(part.heading)
        said += [name for laid in part.blocks for name in (*laid.header, *laid.rows)]
    said += [text for gap in report.gaps for text in (gap.sub_question, gap.reason)]
    said += [text for part in report.parts for text in (part.text, part.missing)]
    said += [conflict.wording for conflict in report.conflicts]
    bare, printed = [_bare(text) for text in said], " ".join(said).lower()
    found = []
    for item in planted:
        whole = _bare(item.text)
        if item.piece.lower() in printed if item.piece else any(whole in text for text in bare):
            found.append(item)
    return tuple(dict.fromkeys(found))


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
