"""A model that answers as a recorded one did, by the words that it sees and not by their ids.

A recording keeps what a model (or a person in its seat) said of which words: a composed report with the text of the
lines that its sentences name, judgements by statement, repairs by the sentence that failed. Prompts, the order of
calls, the choice of passages and ids may change, and it still answers; what it was never asked before it does not know,
and a line that it is not shown any more it can't name, which `missed` and `unseen` tell.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from pincite.domain.codec import to_json
from pincite.domain.events import Json
from pincite.research.model.markup import composed_of
from pincite.testing.models import ModelFake, Seen, composed

Recording: TypeAlias = "dict[str, Any]"
_MAY_MISS: Final = frozenset(
    {"derived", "part", "conflict", "goes_on", "continued", "header", "rows", "items", "question"}
)
_ROLE: Final = re.compile(r"^\[\w+\] ")


def record(calls: Iterable[tuple[Seen, Any]]) -> Recording:
    """What was said in these calls, in the order in which they were answered."""
    made: Recording = {"planner": None, "chosen": [], "composed": [], "judgements": {}, "repairs": {}, "leads": {}}
    for seen, answer in calls:
        match seen.task:
            case "planner":
                made["planner"] = answer
            case "choose":
                made["chosen"].append([_begun(text) for text in _named(_runs(answer["passages"]), seen.citable)])
            case "compose":
                read = to_json(composed_of(answer))
                made["composed"].append(_with_lines(read, partial(_named, texts=_told_apart(seen))))
            case "judge_statements":
                _record_judgements(made, seen, answer)
            case "rewrite":
                passages = seen.blocks.get("Passages", {})
                for repair in answer["repairs"]:
                    row = {"text": repair["text"], "lines": _named(repair.get("lines", ()), passages)}
                    made["repairs"][seen.lines[f"{repair['id']} sentence"]] = row
            case "leads":
                made["leads"] |= {seen.lines[note["id"]]: note["text"] for note in answer["notes"]}
    return made


class RecordedModel(ModelFake):
    """Answers as recorded. What it does not know it leaves out, or calls absent as a judge, and notes in `missed`."""

    def __init__(self, recording: Mapping[str, Any]) -> None:
        super().__init__()
        self._book = recording
        self._judgements = {_said(text): rows for text, rows in recording["judgements"].items()}
        self._judged: defaultdict[str, int] = defaultdict(int)
        self._composed = 0
        self.missed: list[str] = []
        """Statements that it was asked about and has no judgement of."""
        self.unseen: list[str] = []
        """Passages that it chose and lines that its report named, and that it was not shown."""

    def answer(self, seen: Seen) -> Json:
        """The recorded answer, in the ids of this prompt."""
        match seen.task:
            case "planner":
                planned: Json = self._book["planner"]
                return planned
            case "choose":
                ids = {_begun(text): name for name, text in seen.citable.items()}
                rounds = self._book.get("chosen", [])
                known = rounds[self._composed] if self._composed < len(rounds) else []
                self.unseen += [text for text in known if text not in ids]
                return {"passages": [ids[text] for text in known if text in ids]}
            case "compose":
                self._composed += 1
                reports = self._book["composed"]
                return self._report(seen, reports[self._composed - 1]) if self._composed <= len(reports) else ""
            case "judge_statements":
                return {"statements": [self._judgement(seen, name, text) for name, text in seen.statements.items()]}
            case "rewrite":
                return self._repairs(seen)
            case "leads":
                book = self._book.get("leads", {})
                return {"notes": [{"id": n, "text": book[text]} for n, text in seen.lines.items() if text in book]}
        return {}

    def _report(self, seen: Seen, written: Any) -> Json:
        ids = {text: name for name, text in _told_apart(seen).items()}

        def known(texts: Iterable[str]) -> list[str]:
            self.unseen += [text for text in texts if text not in ids]
            return [ids[text] for text in texts if text in ids]

        made: Any = _with_lines(written, known)
        return composed(made.get("answer", ()), made.get("sections", ()), made.get("missing", ()))

    def _judgement(self, seen: Seen, name: str, text: str) -> Json:
        rows = self._judgements.get(_said(text))
        if not rows:
            self.missed.append(text)
            return {"id": name, "label": "absent", "lines": []}
        row = rows[min(self._judged[text], len(rows) - 1)]
        self._judged[text] += 1
        lines = _lines_of(seen, name)
        chosen = [line for line, words in lines.items() if words in row["lines"]] if row.get("lines") else list(lines)
        return {"alone": True, "answers": True, **row, "id": name, "lines": chosen}

    def _repairs(self, seen: Seen) -> Json:
        ids = {text: name for name, text in seen.blocks.get("Passages", {}).items()}
        failed = {name.split()[0]: text for name, text in seen.lines.items() if name.endswith(" sentence")}
        book = self._book["repairs"]
        repairs: Any = [
            {
                "id": name,
                "text": book[text]["text"],
                "lines": [ids[line] for line in book[text]["lines"] if line in ids],
            }
            for name, text in failed.items()
            if text in book
        ]
        return {"repairs": repairs}


def _runs(names: Iterable[str]) -> list[str]:
    """Each id of `p3 p5-p7`."""
    found: list[str] = []
    for name in names:
        low, _, high = name.partition("+")[0].partition("-")
        last = (high or low).lstrip("p")
        found += [f"p{number}" for number in range(int(low.lstrip("p")), int(last) + 1)]
    return found


def _said(statement: str) -> str:
    """The statement without its last mark: a colon may have become a full stop."""
    return statement.rstrip(".:")


def _begun(offered: str) -> str:
    """How a passage begins, without its size."""
    return offered.partition("] ")[2]


def _record_judgements(made: Recording, seen: Seen, answer: Any) -> None:
    for row in answer["statements"]:
        lines = _lines_of(seen, row["id"])
        named = [lines[name] for name in row.get("lines", ()) if name in lines]
        kept: dict[str, Any] = {"label": row["label"]}
        kept |= {"lines": named} if named and len(named) < len(lines) else {}
        kept |= {key: row[key] for key in ("beyond",) if row.get(key)}
        kept |= {key: False for key in ("alone", "answers") if row.get(key) is False}
        made["judgements"].setdefault(seen.statements[row["id"]], []).append(kept)


def _lines_of(seen: Seen, name: str) -> dict[str, str]:
    """The lines that the statement is judged by, without their roles."""
    ranges = seen.blocks["Statements"].get(f"{name} lines", "")
    numbers = [
        number
        for low, high in re.findall(r"l(\d+)(?:-l(\d+))?", ranges)
        for number in range(int(low), int(high or low) + 1)
    ]
    lines = seen.blocks.get("Lines", {})
    return {f"l{number}": _ROLE.sub("", lines[f"l{number}"]) for number in numbers if f"l{number}" in lines}


def _told_apart(seen: Seen) -> dict[str, str]:
    """The lines that may be cited, the second and later ones of the same text with their number."""
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    for name, text in seen.citable.items():
        counts[text] += 1
        found[name] = f"{text} #{counts[text]}" if counts[text] > 1 else text
    return found


def _named(names: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [texts[name] for name in names if name in texts]


def _with_lines(written: Any, change: Callable[[Any], Any]) -> Any:
    """What was written with other names for its lines: every `lines` within it; what is empty or false is left out."""
    if isinstance(written, Mapping):
        return {
            key: change(value) if key == "lines" else _with_lines(value, change)
            for key, value in written.items()
            if key not in _MAY_MISS or value not in ("", None, False, [])
        }
    return [_with_lines(value, change) for value in written] if isinstance(written, list) else written


def calls_of(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """System and user text of requests in the shape of OpenAI's chat completions."""
    found: list[tuple[str, str]] = []
    for row in rows:
        by_role: defaultdict[str, list[str]] = defaultdict(list)
        for message in row["messages"]:
            content = message.get("content") or ""
            text = content if isinstance(content, str) else "\n".join(piece.get("text", "") for piece in content)
            by_role["user" if message["role"] == "user" else "system"].append(text)
        found.append(("\n".join(by_role["system"]), "\n".join(by_role["user"])))
    return found
