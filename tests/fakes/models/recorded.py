"""A model that answers as a recorded one did, by the words that it sees and not by their ids.

A recording keeps what a model (or a person in its seat) said of which words: claims with the text of their lines,
judgements by statement, sentences with the text of their claims. Prompts, the order of calls, windows and ids may
change, and it still answers; what it was never asked before it does not know, which `missed` tells.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pincite.domain.events import Json
from pincite.testing.models import ModelFake, Seen
from pincite.text.tokens import words

Recording: TypeAlias = "dict[str, Any]"
_NOTED: Final = re.compile(r"^\[(?:statement|figure|step|row|definition)[^\]]*\] ")
_ROLE: Final = re.compile(r"^\[\w+\] ")
_WANTED: Final = re.compile(r" \(wanted: \w+\)$")
_NOT_SHOWN: Final = "Not shown of this page"
_MOST_MORE: Final = 4


def record(calls: Iterable[tuple[Seen, Any]]) -> Recording:
    """What was said in these calls, in the order in which they were answered."""
    made: Recording = {
        "planner": None, "follow_up": [], "claims": {}, "more": {}, "judgements": {}, "conflicts": [], "outline": None,
        "sections": {}, "repairs": {}, "edit": {},
    }  # fmt: skip
    for seen, answer in calls:
        match seen.task:
            case "planner":
                made["planner"] = answer
            case "follow_up":
                made["follow_up"].append(answer)
            case "analyst":
                _record_claims(made, seen, answer)
            case "judge_statements":
                _record_judgements(made, seen, answer)
            case "conflicts":
                made["conflicts"] += [[seen.lines[p["one"]], seen.lines[p["other"]]] for p in answer["pairs"]]
            case "outline":
                texts = {name: _NOTED.sub("", text) for name, text in seen.lines.items()}
                sections = [{**part, "claims": _named(part["claims"], texts)} for part in answer["sections"]]
                made["outline"] = {"answer": _named(answer["answer"], texts), "sections": sections}
            case "writer":
                _record_sections(made, seen, answer)
            case "rewrite" | "mend":
                for repair in answer["repairs"]:
                    row = {"text": repair["text"], "claims": _named(repair["claims"], seen.lines)}
                    made["repairs"][_failed(seen, repair["id"])] = row
            case "edit":
                made["edit"] = {
                    "headings": [[seen.lines[edit["id"]], edit["text"]] for edit in answer.get("headings", ())],
                    "sentences": [[seen.lines[edit["id"]], edit["text"]] for edit in answer.get("sentences", ())],
                    "order": _named(answer.get("order", ()), seen.lines),
                    "repeated": _named(answer.get("repeated", ()), seen.lines),
                }
    return made


class RecordedModel(ModelFake):
    """Answers as recorded. What it does not know it leaves out, or calls absent as a judge, and notes in `missed`."""

    def __init__(self, recording: Mapping[str, Any]) -> None:
        super().__init__()
        self._book = recording
        self._shown: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._claimed: defaultdict[str, set[str]] = defaultdict(set)
        self._judged: defaultdict[str, int] = defaultdict(int)
        self._followed = 0
        self.missed: list[str] = []

    def answer(self, seen: Seen) -> Json:
        """The recorded answer, in the ids of this prompt."""
        match seen.task:
            case "planner":
                return self._book["planner"]  # type: ignore[no-any-return]  # JSON of the recording
            case "follow_up":
                self._followed += 1
                rows = self._book["follow_up"]
                return rows[self._followed - 1] if self._followed <= len(rows) else {"parts": []}
            case "analyst":
                return self._claims(seen)
            case "judge_statements":
                return {"statements": [self._judgement(seen, name, text) for name, text in seen.statements.items()]}
            case "conflicts":
                ids = _ids(seen)
                pairs = [pair for pair in self._book["conflicts"] if all(text in ids for text in pair)]
                return {"pairs": [{"one": ids[one], "other": ids[other]} for one, other in pairs]}
            case "outline":
                return self._outline(seen)
            case "writer":
                return {"parts": [{"id": name, **self._section(part)} for name, part in seen.parts().items()]}
            case "rewrite" | "mend":
                return self._repairs(seen)
            case "edit":
                return self._edit(seen)
        return {"notes": []} if seen.task == "leads" else {}

    def _claims(self, seen: Seen) -> Json:
        page = seen.titles[0]
        shown = self._shown[page]
        shown |= {text: name for name, text in seen.blocks[page].items()}
        parts = {_WANTED.sub("", text): name for name, text in seen.listed("Parts").items()}
        wanted = [claim for claim in self._book["claims"].get(page, ()) if claim["text"] not in self._claimed[page]]
        found = [claim for claim in wanted if all(line in shown for line in claim["lines"])]
        self._claimed[page] |= {claim["text"] for claim in found}
        left = [line for claim in wanted if claim not in found for line in claim["lines"] if line not in shown]
        claims: Any = [
            {**claim, "part": parts.get(claim["part"], ""), "lines": [shown[line] for line in claim["lines"]]}
            for claim in found
        ]
        wider: Any = self._wider(seen, page, left) if left else []
        return {"claims": claims, "more": wider}

    def _wider(self, seen: Seen, page: str, left: Sequence[str]) -> list[str]:
        """The windows not shown whose names have most words of what was asked for and of the lines still missing."""
        wanted = set(words(" ".join([*self._book["more"].get(page, ()), *left]).lower()))
        others = seen.blocks.get(_NOT_SHOWN, {})
        near = {name: len(wanted & set(words(text.lower()))) for name, text in others.items()}
        return sorted(near, key=lambda name: -near[name])[:_MOST_MORE]

    def _judgement(self, seen: Seen, name: str, text: str) -> Json:
        rows = self._book["judgements"].get(text)
        if not rows:
            self.missed.append(text)
            return {"id": name, "label": "absent", "lines": []}
        row = rows[min(self._judged[text], len(rows) - 1)]
        self._judged[text] += 1
        lines = _lines_of(seen, name)
        chosen = [line for line, words in lines.items() if words in row["lines"]] if row.get("lines") else list(lines)
        return {"alone": True, "answers": True, **row, "id": name, "lines": chosen}

    def _outline(self, seen: Seen) -> Json:
        ids = _ids(seen)
        book = self._book["outline"]
        sections: Any = [{**part, "claims": _known(part["claims"], ids)} for part in book["sections"]]
        answer: Any = {"answer": _known(book["answer"], ids), "sections": sections}
        return answer  # type: ignore[no-any-return]  # JSON of the recording

    def _section(self, seen: Seen) -> dict[str, Json]:
        written = self._book["sections"].get(_section(seen))
        if written is None:
            self.missed.append(_section(seen))
            return {"sentences": [{"text": text, "claims": [name]} for name, text in seen.statements.items()]}
        ids = _ids(seen)
        return _with_claims(written, lambda texts: _known(texts, ids))  # type: ignore[no-any-return]  # JSON of the recording

    def _repairs(self, seen: Seen) -> Json:
        ids = _ids(seen)
        failed = {name.split()[0]: text for name, text in seen.lines.items() if name.endswith((" sentence", " claim"))}
        book = self._book["repairs"]
        repairs: Any = [
            {"id": name, "text": book[text]["text"], "claims": _known(book[text]["claims"], ids)}
            for name, text in failed.items()
            if text in book
        ]
        return {"repairs": repairs}

    def _edit(self, seen: Seen) -> Json:
        ids = {text: name for name, text in seen.lines.items()}
        book = self._book["edit"]
        changed: Any = {
            kind: [{"id": ids[old], "text": new} for old, new in book.get(kind, ()) if old in ids]
            for kind in ("headings", "sentences")
        }
        kept: Any = {name: _known(book.get(name, ()), ids) for name in ("order", "repeated")}
        return {**changed, **kept}


def _record_claims(made: Recording, seen: Seen, answer: Any) -> None:
    page = seen.titles[0]
    lines = seen.blocks[page]
    parts = {name: _WANTED.sub("", text) for name, text in seen.listed("Parts").items()}
    kept = made["claims"].setdefault(page, [])
    for claim in answer["claims"]:
        row = {key: value for key, value in claim.items() if value not in ("", None)}
        kept.append({**row, "part": parts.get(claim["part"], ""), "lines": _named(claim["lines"], lines)})
    others = seen.blocks.get(_NOT_SHOWN, {})
    made["more"].setdefault(page, []).extend(_named(answer.get("more", ()), others))


def _record_judgements(made: Recording, seen: Seen, answer: Any) -> None:
    for row in answer["statements"]:
        lines = _lines_of(seen, row["id"])
        named = [lines[name] for name in row.get("lines", ()) if name in lines]
        kept: dict[str, Any] = {"label": row["label"]}
        kept |= {"lines": named} if named and len(named) < len(lines) else {}
        kept |= {key: row[key] for key in ("beyond",) if row.get(key)}
        kept |= {key: False for key in ("alone", "answers") if row.get(key) is False}
        made["judgements"].setdefault(seen.statements[row["id"]], []).append(kept)


def _record_sections(made: Recording, seen: Seen, answer: Any) -> None:
    asked = seen.parts()
    for part in answer["parts"]:
        mine = {key: value for key, value in part.items() if key != "id"}
        made["sections"][_section(asked[part["id"]])] = _with_claims(mine, lambda names: _named(names, seen.lines))


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


def _section(seen: Seen) -> str:
    found = re.search(r"Write the section “(.+?)” as ", seen.ours)
    return found[1] if found else ""


def _failed(seen: Seen, name: str) -> str:
    return seen.lines.get(f"{name} sentence") or seen.lines[f"{name} claim"]


def _ids(seen: Seen) -> dict[str, str]:
    """The ids of statements by their text."""
    return {_NOTED.sub("", text): name for name, text in seen.lines.items() if re.fullmatch(r"c\d+", name)}


def _named(names: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [texts[name] for name in names if name in texts]


def _known(texts: Iterable[str], ids: Mapping[str, str]) -> list[str]:
    return [ids[text] for text in texts if text in ids]


def _with_claims(written: Any, change: Any) -> Any:
    """What was written with other names for its claims: every `claims` within it."""
    if isinstance(written, Mapping):
        return {
            key: change(value) if key == "claims" else _with_claims(value, change) for key, value in written.items()
        }
    return [_with_claims(value, change) for value in written] if isinstance(written, list) else written


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
