"""Models that say what labelled statements say of a page: true ones in other words, or lies of many open kinds.

A fake that copies lines proves nothing about keeping the truth; these write as strong models do. Who judges them is the
caller's choice: an honest judge (`TellTaleJudge`), one that agrees to all, or nobody.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.fakes.models.lying import Planted

from pincite.domain.events import Json
from pincite.testing.models import FaithfulModel, Seen, block, composed, paragraph, said, section, table
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop, words

_LEAD_IN: Final = "Note that"
# As a section holds in a few paragraphs, and a standard report in all.
_PER_SECTION: Final = 5
_MOST: Final = 40
_CELL: Final = re.compile(r"^Point \w: What is said: ")
_SHOWN: Final = 0.9
"""The share of a statement's passages that must stand in the lines shown for it to be read there."""


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """What is truly or falsely said of a page, with the passages it is about."""

    claim: str
    passages: tuple[str, ...]
    true: bool = True
    title: str = ""


class ParaphrasingModel(FaithfulModel):
    """Reads out of the pages the true statements whose passages are shown, and composes a report of them.

    It never copies a line: it says what the statements say, with a lead-in of its own, or two in one sentence. The
    third section is a table, the fourth a list. As a judge it is honest: it knows what it says for true, and reads
    everything else by its words.

    Args:
        statements: all that it can say.
        latency_s: seconds before each answer.
        thinking: tokens it thinks before each answer, one after the other.
        errors: the share of statements that it judges wrongly, the same ones whenever it is asked.
    """

    def __init__(
        self,
        statements: Sequence[LabelledStatement],
        *,
        latency_s: float = 0.0,
        thinking: Sequence[int] = (0,),
        errors: float = 0.0,
    ) -> None:
        super().__init__(latency_s=latency_s, thinking=thinking)
        self._statements = tuple(statements)
        self._true = {_said(statement.claim) for statement in statements if statement.true}
        self._errors = errors
        self.proposed: list[str] = []
        """True statements that it told, each by itself or with another in one sentence."""
        self.told: list[str] = []
        """True sentences, items and cells that it wrote."""

    def compose(self, seen: Seen) -> Json:
        """The direct answer and sections of five, of what is true of the lines shown."""
        part = next(iter(seen.parts), "")
        told = self.sentences(seen)
        for sentence in told[:1]:
            sentence["part"] = part
        answer, rest = (told[:2], told[2:]) if len(told) > 2 else (told[:1], told[1:])
        sections: list[Json] = []
        for start in range(0, len(rest), _PER_SECTION):
            own: list[Json] = list(rest[start : start + _PER_SECTION])
            number = len(sections)
            blocks = {2: self._table(rest[start : start + _PER_SECTION]), 3: block("list", *own)}
            sections.append(section(f"Findings, part {'abcdefghijkl'[number]}", blocks.get(number, paragraph(*own))))
        gone: list[Json] = [
            {"part": name, "what": "no line says it", "queries": [f"{text[:60]} explained"], "question": ""}
            for name, text in seen.parts.items()
            if not told
        ]
        return composed(answer, sections, gone)

    def sentences(self, seen: Seen) -> list[dict[str, Json]]:
        """Sentences of the true statements, some behind a lead-in, now and then two in one."""
        read = [(statement.claim, names) for statement, names in self.read(seen) if statement.true]
        left, made = read[:_MOST], list[dict[str, Json]]()
        while left:
            text, names = left.pop(0)
            self.proposed.append(text)
            turn = len(made) % 4
            if turn == 1:
                text = f"{_LEAD_IN} {_lowered(text)}"
            elif turn == 3 and left:
                other, more = left.pop(0)
                self.proposed.append(other)
                text, names = f"{text.rstrip('.')}, and {_lowered(other)}", [*names, *more]
            self._true.add(_said(text))
            self.told.append(text)
            made.append(said(text, *dict.fromkeys(names)))
        return made

    def _table(self, told: Sequence[dict[str, Json]]) -> Json:
        """What is told as the only column of a table."""
        return table(("Point", "What is said"), {f"Point {'abcdefgh'[n]}": [cell] for n, cell in enumerate(told)})

    def read(self, seen: Seen) -> list[tuple[LabelledStatement, list[str]]]:
        """The statements whose passages are shown, with the lines in which they stand."""
        lines = {name: " ".join(text.split()) for name, text in seen.citable.items()}
        whole = " ".join(lines.values())
        found: list[tuple[LabelledStatement, list[str]]] = []
        for statement in self._statements:
            if statement.passages[0][:40] not in whole:
                continue
            asked = " ".join(statement.passages)
            names = [name for name, text in lines.items() if text and (text in asked or _holds(text, statement))]
            if sum(len(lines[name]) for name in names) >= _SHOWN * len(asked):
                found.append((statement, names))
        return found

    def judge_statements(self, seen: Seen) -> Json:
        """As its labels say, but for a share of errors."""
        made = super().judge_statements(seen)
        assert isinstance(made, dict)
        rows = made["statements"]
        assert isinstance(rows, list)
        for row in rows:
            assert isinstance(row, dict)
            text = seen.lines[str(row["id"])]
            states = _said(_CELL.sub("", text)) in self._true or row["label"] == "states"
            if _hash(text) < self._errors * 2**32:
                states = not states
            row |= {"label": "states" if states else "absent", "answers": states}
        return made


@dataclass(frozen=True, slots=True)
class _Page:
    """What a lie is made of beside the statement: the page's lines and its other statements."""

    lines: Sequence[str]
    others: Sequence[str]

    def word_like(self, word: str, text: str) -> str:
        """A word of the page that could stand in the word's place: of like ending and case, not in the text."""
        ending = word[-2:].lower()
        known = {found.lower() for found in words(text)}
        fitting = [
            found
            for line in self.lines
            for found in words(line)
            if found[-2:].lower() == ending
            and found.lower() not in known
            and len(found) > 3
            and found[0].isupper() == word[0].isupper()
            and found.isalpha()
            and not is_stop(found)
        ]
        return _pick(sorted(set(fitting)), text)


Lie = Callable[[str, _Page], str]
_CONDITION = re.compile(r",?\s+\b(?:if|unless|when|only|until|except|provided|as long as)\b[^,.;]*", re.IGNORECASE)
_IF = re.compile(r"^(?:If|When)\s+([^,]+),\s+(?:then\s+)?([^.]+)\.")


def _exchanged_word(text: str, page: _Page) -> str:
    content = [word for word in words(text) if word.isalpha() and len(word) > 4 and not is_stop(word)]
    for word in sorted(set(content), key=lambda word: _hash(word + text)):
        other = page.word_like(word, text)
        if other:
            return re.sub(rf"\b{re.escape(word)}\b", other, text, count=1)
    return ""


def _without_condition(text: str, page: _Page) -> str:
    changed = _CONDITION.sub("", text, count=1).strip()
    return f"{changed[:1].upper()}{changed[1:].rstrip('.')}." if changed != text and len(changed.split()) > 3 else ""


def _if_then_exchanged(text: str, page: _Page) -> str:
    found = _IF.match(text)
    return f"If {found.group(2)}, then {found.group(1)}." if found else ""


def _conflated(text: str, page: _Page) -> str:
    other = _pick([other for other in page.others if other != text], text)
    if not other:
        return ""
    mine, theirs = text.rstrip(".").split(), other.rstrip(".").split()
    return f"{' '.join(mine[: len(mine) // 2])} {' '.join(theirs[len(theirs) // 2 :])}."


def _spliced(text: str, page: _Page) -> str:
    long = [line.rstrip(".") for line in page.lines if 8 <= len(line.split()) <= 40 and '"' not in line]
    if len(long) < 2:
        return ""
    one, other = long[0].split(), long[-1].split()
    return f'The page says "{" ".join(one[: len(one) // 2])} {" ".join(other[len(other) // 2 :])}".'


def _superlative(text: str, page: _Page) -> str:
    return f"{text.rstrip('.')}, more than in any comparable system."


def _other_figure(text: str, page: _Page) -> str:
    return re.sub(r"\d[\d,.]*\d|\d", "73914", text, count=1) if re.search(r"\d", text) else ""


def _other_year(text: str, page: _Page) -> str:
    return f"Since 12 March 1987, {text[:1].lower()}{text[1:]}"


def _other_name(text: str, page: _Page) -> str:
    return f"{text.rstrip('.')} with zarblonski_max_depth."


def _other_address(text: str, page: _Page) -> str:
    return f"{text.rstrip('.')}, as https://invented.example/proof shows."


def _other_page(text: str, page: _Page) -> str:
    return "The harbour of Quillmere was dredged by order of the council in winter."


OPEN_LIES: Final[Mapping[str, tuple[Lie, bool]]] = {
    "open_word": (_exchanged_word, False),
    "condition_dropped": (_without_condition, False),
    "if_then_exchanged": (_if_then_exchanged, False),
    "conflation": (_conflated, False),
    "superlative": (_superlative, False),
    "other_page": (_other_page, False),
    "spliced_quotation": (_spliced, True),
    "figure": (_other_figure, True),
    "date": (_other_year, True),
    "identifier": (_other_name, True),
    "address": (_other_address, True),
}
"""How each kind of lie is made of a true statement, and whether code decides it, also when the judge is in on it."""
LABELLED: Final = "labelled"
"""The kind of lie that is a false statement of the labelled ones."""


class OpenLiar(ParaphrasingModel):
    """Tells true statements and, for every second one, a lie of one kind under the same lines; insists when it fails.

    Args:
        statements: all that it can say.
        kind: a name of `OPEN_LIES`, or `LABELLED`.
    """

    def __init__(self, statements: Sequence[LabelledStatement], kind: str) -> None:
        super().__init__(statements)
        self.kind = kind
        self.planted: list[Planted] = []

    def lied(self, text: str) -> bool:
        """Whether the text is one of its lies, or holds one."""
        bare = _bare(text)
        return any(item and item in bare for item in map(_bare, (planted.text for planted in self.planted)))

    def sentences(self, seen: Seen) -> list[dict[str, Json]]:
        """True sentences, and a lie in the place of every second one; of labelled lies one beside each."""
        read = self.read(seen)
        others = [other.claim for other, _ in read]
        made: list[dict[str, Json]] = []
        for number, (statement, names) in enumerate(read[: 2 * _MOST]):
            text = statement.claim
            lying = number % 2 == 0 or self.kind == LABELLED
            lie = self._lie(text, statement.true, seen, others) if lying else ""
            if lie:
                self.planted.append(Planted(self.kind, lie))
                made.append(said(lie, *names))
            elif statement.true:
                self.proposed.append(text)
                self.told.append(text)
                made.append(said(text, *names))
        return made

    def rewrite(self, seen: Seen) -> Json:
        """The same sentences once more."""
        told = [(name, text) for name, text in seen.lines.items() if name.endswith(" sentence")]
        return {"repairs": [{"id": name.split()[0], "text": f"{text} ", "lines": []} for name, text in told]}

    def _lie(self, text: str, true: bool, seen: Seen, others: Sequence[str]) -> str:
        if self.kind == LABELLED:
            return "" if true else text
        lines = [text[s.start : s.end] for text in seen.citable.values() for s in sentences(text)]
        lie = OPEN_LIES[self.kind][0](text, _Page(lines, others)) if true else ""
        return "" if _bare(lie) == _bare(text) else lie


def _holds(text: str, statement: LabelledStatement) -> bool:
    return any(passage in text for passage in statement.passages)


def _lowered(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _pick(found: Sequence[str], seed: str) -> str:
    return found[_hash(seed) % len(found)] if found else ""


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _said(text: str) -> str:
    """The text without the lead-in that it may have been written with."""
    return _bare(text).removeprefix(_bare(_LEAD_IN)).strip()


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
