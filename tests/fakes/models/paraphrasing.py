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
from pincite.testing.models import FaithfulModel, Seen
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop, words

_LEAD_IN: Final = "Note that"
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
    """Reads out of a page the true statements whose passages are shown, and writes them with a lead-in of its own.

    As a judge it is honest: it knows what it says for true, and reads everything else by its words.

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
        """True statements that it made claims of."""
        self.told: list[str] = []
        """True sentences that it wrote."""

    def analyse(self, seen: Seen) -> Json:
        """A claim for each true statement whose passages are shown."""
        claims: list[Json] = []
        for statement, names in self.read(seen):
            if statement.true:
                self.proposed.append(statement.claim)
                claims.append(self._claim(statement.claim, names))
        return {"claims": claims[:16]}

    def read(self, seen: Seen) -> list[tuple[LabelledStatement, list[str]]]:
        """The statements whose passages are shown, with the lines in which they stand."""
        lines = {name: " ".join(text.split()) for name, text in seen.lines.items()}
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

    def write(self, seen: Seen) -> Json:
        """Each statement, some behind a lead-in, two neighbours at a time in one sentence now and then."""
        told = list(seen.statements.items())
        made: list[Json] = []
        for number, (name, text) in enumerate(told):
            said = text if number % 3 == 0 else f"{_LEAD_IN} {text[:1].lower()}{text[1:]}" if number % 3 == 1 else text
            self.told.append(said)
            made.append({"text": said, "claims": [name]})
        return {"sentences": made}

    def judge_statements(self, seen: Seen) -> Json:
        """As its labels say, but for a share of errors."""
        made = super().judge_statements(seen)
        assert isinstance(made, dict)
        rows = made["statements"]
        assert isinstance(rows, list)
        for row in rows:
            assert isinstance(row, dict)
            text = seen.lines[str(row["id"])]
            states = _said(text) in self._true or row["label"] == "states"
            if _hash(text) < self._errors * 2**32:
                states = not states
            row |= {"label": "states" if states else "absent", "answers": states}
        return made

    def _claim(self, text: str, names: Sequence[str]) -> Json:
        lines: list[Json] = list(names)
        return {"text": text, "part": "1", "lines": lines, "quote": "", "kind": "fact", "confidence": 0.8}


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
    """Tells true statements and, every second time, a lie of one kind: as a claim, or as a sentence of true claims.

    Args:
        statements: all that it can say.
        kind: a name of `OPEN_LIES`, or `LABELLED`.
        in_sentences: lie when writing instead of when reading.
    """

    def __init__(self, statements: Sequence[LabelledStatement], kind: str, *, in_sentences: bool = False) -> None:
        super().__init__(statements)
        self.kind = kind
        self.in_sentences = in_sentences
        self.planted: list[Planted] = []

    def lied(self, text: str) -> bool:
        """Whether the text is one of its lies, or holds one."""
        bare = _bare(text)
        return any(item and item in bare for item in map(_bare, (planted.text for planted in self.planted)))

    def analyse(self, seen: Seen) -> Json:
        """True claims, every second one turned into a lie, or a false one beside each."""
        claims: list[Json] = []
        read = self.read(seen)
        for number, (statement, names) in enumerate(read):
            text = statement.claim
            if self.in_sentences or (statement.true and number % 2):
                if statement.true:
                    self.proposed.append(text)
                    claims.append(self._claim(text, names))
                continue
            lie = self._lie(text, statement.true, seen, [other.claim for other, _ in read])
            if lie:
                self.planted.append(Planted(self.kind, lie))
                claims.append(self._claim(lie, names))
        return {"claims": claims[:16]}

    def write(self, seen: Seen) -> Json:
        """True sentences, every second one a lie where that is its way."""
        made = super().write(seen)
        if not self.in_sentences:
            return made
        told = list(seen.statements.values())
        assert isinstance(made, dict)
        rows = made["sentences"]
        assert isinstance(rows, list)
        for number, row in enumerate(rows):
            assert isinstance(row, dict)
            lie = self._lie(told[number], True, seen, told) if number % 2 == 0 else ""
            if lie:
                self.told.remove(str(row["text"]))
                self.planted.append(Planted(self.kind, lie))
                row["text"] = lie
        return made

    def rewrite(self, seen: Seen) -> Json:
        """The same sentences once more."""
        told = [(name, text) for name, text in seen.lines.items() if name.endswith(" sentence")]
        return {"repairs": [{"id": name.split()[0], "text": f"{text} ", "claims": []} for name, text in told]}

    def _lie(self, text: str, true: bool, seen: Seen, others: Sequence[str]) -> str:
        if self.kind == LABELLED:
            return "" if true else text
        lines = [text[s.start : s.end] for text in seen.lines.values() for s in sentences(text)]
        lie = OPEN_LIES[self.kind][0](text, _Page(lines, others)) if true else ""
        return "" if _bare(lie) == _bare(text) else lie


def _holds(text: str, statement: LabelledStatement) -> bool:
    return any(passage in text for passage in statement.passages)


def _pick(found: Sequence[str], seed: str) -> str:
    return found[_hash(seed) % len(found)] if found else ""


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _said(text: str) -> str:
    """The text without the lead-in that it may have been written with."""
    return _bare(text).removeprefix(_bare(_LEAD_IN)).strip()


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
