"""Language models that are no models: scripted ones, and one that faithfully repeats what it read.

They see what a real model sees, the two messages of a prompt, and answer in text.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from itertools import cycle
from os.path import commonprefix
from typing import Any, TypeAlias, TypeVar, cast

import anyio

from pincite.domain.errors import ModelBadOutput, PinciteError
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.model import Generation, ModelInfo, ModelRole, ModelUsage, Prompt, messages_of
from pincite.llm.service import bill_context, read_answer, schema_of
from pincite.text.tokens import is_stop, terms, token_estimate, words

_TASK = re.compile(r"^Task: (\w+)", re.MULTILINE)
_LINE_ID = re.compile(r"[a-z]+\d+")
_STANDS = "The report so far"
_STANDING = re.compile(r"@\d+")
_FORM = re.compile(r"(?: \(best told as \w+\))?(?: \(needs the answer of \d+\))?$")
_FENCED = re.compile(
    r"^<<(?P<fence>[0-9a-f]+)>> ?(?P<title>[^\n]*)\n(?P<body>.*?)^<</(?P=fence)>>$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read: `task` is the prompt's name, `lines` maps ids to texts over all material, `ours` is the rest."""

    task: str
    system: str
    user: str
    ours: str
    titles: tuple[str, ...] = ()
    lines: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The same by the title of their material; the last one of that title."""

    @property
    def statements(self) -> dict[str, str]:
        """The statements that a judge is asked about, by their ids."""
        own = self.blocks.get("Statements", self.lines)
        return {name: text for name, text in own.items() if re.fullmatch(r"c\d+", name)}

    @property
    def citable(self) -> dict[str, str]:
        """The lines of pages that a writer may name, by their ids; of a listing the first row stands for all."""
        stands = self.blocks.get(_STANDS, {})
        return {n: text for n, text in self.lines.items() if _LINE_ID.fullmatch(n) and n not in stands}

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the question that a writer is to tell, by their ids."""
        return {name: _FORM.sub("", text) for name, text in self.listed("Parts of the question").items()}

    @property
    def question(self) -> str:
        """The question of the run, when the prompt tells it."""
        found = re.search(r"^Question: (.+)$", self.ours, re.MULTILINE)
        return found.group(1) if found else ""

    def listed(self, title: str) -> dict[str, str]:
        """The `id: text` lines under a heading of ours, as in "Parts:"."""
        found = re.search(rf"^{re.escape(title)}:\n((?:\S+: .*\n?)+)", self.ours, re.MULTILINE)
        if not found:
            return {}
        return dict(line.split(": ", 1) for line in found.group(1).strip().splitlines() if ": " in line)


def seen_messages(system: str, user: str) -> Seen:
    """The messages of one of our prompts, read as a model would; other messages have the task `chat`."""
    task = _TASK.search(system)
    lines: dict[str, str] = {}
    titles: list[str] = []
    blocks: dict[str, dict[str, str]] = {}
    for match in _FENCED.finditer(user):
        titles.append(match.group("title"))
        for line in match.group("body").splitlines():
            name, separator, text = line.partition(": ")
            if separator:
                lines[name] = text
                blocks.setdefault(titles[-1], {})[name] = text
    ours = _FENCED.sub("", user)
    return Seen(task.group(1) if task else "chat", system, user, ours, tuple(titles), lines, blocks)


T = TypeVar("T")
# More than any tokenizer takes for one: no text longer than that can fit.
_CHARS_PER_TOKEN = 8
# Shortest beginning that OpenAI and Anthropic keep.
_CACHED_FROM = 1_024
# What stands in front of every second sentence and changes nothing.
_LEAD_INS = ("", "According to the source, ", "", "The page says: ", "The source states that ")
Answer: TypeAlias = "Json | PinciteError | Callable[[Seen], Json | PinciteError]"


class ModelFake(ABC):
    """A model in this process. Subclasses say what they answer; all calls are kept in `seen`.

    Args:
        latency_s: seconds before each answer.
        roles: the roles it serves.
        usd_per_million: its price for tokens in and out alike; None for an unknown price.
        thinking: tokens it thinks before each answer, one after the other; they count against the cap, as with
            providers, so that an answer can be cut before its first word.
    """

    def __init__(
        self,
        *,
        latency_s: float = 0.0,
        roles: Sequence[ModelRole] = tuple(ModelRole),
        usd_per_million: Decimal | None = Decimal(1),
        thinking: Sequence[int] = (0,),
    ) -> None:
        self.latency_s = latency_s
        self.seen: list[Seen] = []
        self.waited_s = 0.0
        self.cut = 0
        self._thinking = cycle(thinking)
        self._sent: list[str] = []
        self._roles = frozenset(roles)
        self._price = usd_per_million

    @abstractmethod
    def answer(self, seen: Seen) -> Json:
        """What this model says: JSON for our tasks, or a text. Errors: any provider error, to be raised."""

    def reply(self, system: str, user: str) -> str:
        """The answer as text, as a server sends it."""
        seen = seen_messages(system, user)
        self.seen.append(seen)
        made = self.answer(seen)
        return made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)

    def info(self, role: ModelRole) -> Sequence[ModelInfo]:
        """This model, for the roles it serves."""
        known = ModelInfo(f"fake:{type(self).__name__}", "fake", self._price, self._price)
        return (known,) if role in self._roles else ()

    async def generate(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, choice: int = 0, deadline_s: float | None = None
    ) -> Generation[T]:
        """The answer, read as a real one is. The schema is sent in front of all, where providers have it."""
        messages = messages_of(prompt)
        schema = "" if output_type is str else json.dumps(schema_of(output_type))
        kept = len(self._sent)
        if self.latency_s:
            self.waited_s += self.latency_s
            await anyio.sleep(self.latency_s)
        text, finish, usage = self.written(messages.system, messages.user, prompt.cap_tokens, schema, kept)
        try:
            output = read_answer(text, output_type, finish=finish)
        except ModelBadOutput as error:
            bill = {"model": "fake", **bill_context(usage, text)}
            raise ModelBadOutput(error.message, reason=error.reason, retryable=error.retryable, context=bill) from None
        return Generation(output, usage, self.info(role)[0].name, "fake", self.latency_s * 1000)

    def written(
        self, system: str, user: str, cap: int, schema: str = "", kept: int | None = None
    ) -> tuple[str, str, ModelUsage]:
        """The answer as far as the cap on thoughts and answer lets it come, why it ended, and its bill.

        `kept`: how many earlier calls were answered when this one was sent, and can be in a cache; None for all.
        """
        text, thinking, finish = self.reply(system, user), min(next(self._thinking), cap), "stop"
        needed = token_estimate(text[: _CHARS_PER_TOKEN * cap + 1])
        if thinking + needed > cap:
            text, finish = text[: len(text) * (cap - thinking) // needed], "length"
            self.cut += 1
        sent = "\0".join([*([schema] if schema else []), system, user])
        tokens_in, tokens_out = token_estimate(sent), thinking + min(needed, cap - thinking)
        cost = None if self._price is None else (tokens_in + tokens_out) * self._price / Decimal(1_000_000)
        return text, finish, ModelUsage(tokens_in, tokens_out, self._cached(sent, kept), cost, thinking=thinking)

    def _cached(self, sent: str, kept: int | None) -> int:
        """Tokens that a provider would have in its cache: the longest beginning of an answered call, from 1,024 on."""
        shared = max((len(commonprefix([sent, before])) for before in self._sent[:kept]), default=0)  # noqa: RUF071  # of texts, not of paths
        self._sent.append(sent)
        tokens = token_estimate(sent[:shared])
        return tokens if tokens >= _CACHED_FROM else 0


class FaithfulModel(ModelFake):
    """A model that does each task honestly by simple rules: it repeats what it read and cites where."""

    def answer(self, seen: Seen) -> Json:
        """The answer to one of our tasks; a plain sentence for anything else."""
        tasks: dict[str, Callable[[Seen], Json]] = {
            "planner": self.plan,
            "choose": self.choose,
            "compose": self.compose,
            "judge": self.judge,
            "judge_statements": self.judge_statements,
            "rewrite": self.rewrite,
            "summary": self.summarise,
            "leads": self.describe,
        }
        return tasks[seen.task](seen) if seen.task in tasks else "Understood."

    def plan(self, seen: Seen) -> Json:
        """The question as one part, with three queries."""
        content = [word for word in words(seen.question) if not is_stop(word)] or seen.question.split()
        queries: list[Json] = list(
            dict.fromkeys([" ".join(content[:12]), " ".join(content[:4]), " ".join([*content[1:6], "reference"])])
        )
        part: dict[str, Json] = {
            "question": seen.question,
            "heading": " ".join(content[:6]),
            "queries": queries,
        }
        return {"parts": [part]}

    def choose(self, seen: Seen) -> Json:
        """No passage, so that words decide: how passages begin tells a model without meaning too little."""
        return {"passages": []}

    def compose(self, seen: Seen) -> Json:
        """The best lines in true sentences: two answer directly, the others follow in sections of five.

        A part that no line shares two words with is missing, with another query.
        """
        parts = seen.parts or {"1": seen.question}
        best = self.best_lines(seen)
        nearest = {name: max(parts, key=lambda part: _shared(parts[part], text)) for name, text in best}
        first = {part: name for name, part in reversed(nearest.items()) if _shared(parts[part], seen.lines[name]) > 1}
        told: list[Json] = [
            said(self.phrase(number, text), name, part=nearest[name] if first.get(nearest[name]) == name else "")
            for number, (name, text) in enumerate(best)
        ]
        answer, rest = (told[:2], told[2:]) if len(told) > 2 else (told[:1], told[1:])
        sections: list[Json] = [
            section(f"Findings, part {'abcdefghijkl'[start // 5]}", paragraph(*rest[start : start + 5]))
            for start in range(0, len(rest), 5)
        ]
        missing: list[Json] = [
            {"part": name, "what": "", "queries": [" ".join([*terms(text)][:6]) + " details"], "question": ""}
            for name, text in parts.items()
            if name not in first
        ]
        return composed(answer, sections, missing)

    def best_lines(self, seen: Seen) -> list[tuple[str, str]]:
        """The lines worth telling, best first: whole sentences that share words with the question."""
        asked = set(terms(f"{seen.question} {' '.join(seen.parts.values())}"))
        scored = [
            (len(asked & set(terms(text))), name, text)
            for name, text in seen.citable.items()
            if 5 <= len(text.split()) <= 60 and text[:1].isupper() and text.rstrip()[-1:] in ".!"
        ]
        ranked = sorted((row for row in scored if row[0] >= 2), key=lambda row: -row[0])
        return [(name, text) for _, name, text in ranked[:16]]

    def judge(self, seen: Seen) -> Json:
        """High where nearly all words of the claim are in the quote."""
        cases: list[Json] = []
        for name, text in seen.lines.items():
            if name.endswith(" claim"):
                number = name.removesuffix(" claim")
                quote = set(terms(seen.lines.get(f"{number} quote", "")))
                mine = set(terms(text))
                share = len(mine & quote) / len(mine) if mine else 0.0
                cases.append({"id": number, "entailed": 0.95 if share >= 0.85 else 0.4})
        return {"cases": cases}

    def judge_statements(self, seen: Seen) -> Json:
        """`states` where nearly all words of a statement are in its lines, else `absent`."""
        rows: list[Json] = []
        for name, text in seen.lines.items():
            if re.fullmatch(r"c\d+", name):
                ranges = re.findall(r"l(\d+)(?:-l(\d+))?", seen.lines.get(f"{name} lines", ""))  # `l1-l4 l7`
                shown = {f"l{n}" for low, high in ranges for n in range(int(low), int(high or low) + 1)}
                words_there = {term for line in shown for term in terms(seen.lines.get(line, ""))}
                mine = set(terms(_bare(text)))
                states = bool(mine) and len(mine & words_there) >= 0.85 * len(mine)
                rows.append(
                    {
                        "id": name,
                        "label": "states" if states else "absent",
                        "lines": [line for line in sorted(shown) if mine & set(terms(seen.lines.get(line, "")))],
                        "alone": True,
                        "answers": states,
                    }
                )
        return {"statements": rows}

    def summarise(self, seen: Seen) -> Json:
        """The first whole sentences."""
        whole = [(name, text) for name, text in seen.lines.items() if text.rstrip()[-1:] == "."][:5]
        return {"sentences": [{"text": text, "claims": [name]} for name, text in whole]}

    def describe(self, seen: Seen) -> Json:
        """The first words of each title."""
        return {
            "notes": [
                {"id": name, "text": " ".join(text.split(":")[0].split()[:6])} for name, text in seen.lines.items()
            ]
        }

    def phrase(self, number: int, text: str) -> str:
        """The statement in a true sentence."""
        return f"{_LEAD_INS[number % len(_LEAD_INS)]}{text}"

    def rewrite(self, seen: Seen) -> Json:
        """Each failed sentence as the first passage that it may rest on, word for word."""
        passages = seen.blocks.get("Passages", {})
        repairs: list[Json] = []
        for name, text in seen.lines.items():
            if name.endswith(" may rest on"):
                wanted = next((part.strip() for part in text.split(",") if part.strip() in passages), "")
                if wanted:
                    told = passages[wanted].rsplit(" > ", 1)[-1]
                    repairs.append({"id": name.split()[0], "text": told, "lines": [wanted]})
        return {"repairs": repairs}


def _bare(text: str) -> str:
    """The text without the words that this model puts in front of what it tells."""
    return next((text.removeprefix(lead) for lead in _LEAD_INS if lead and text.startswith(lead)), text)


def said(text: str, *lines: str, **more: Any) -> dict[str, Json]:
    """A sentence, item or cell as a model gives it, with the lines it names."""
    return {"text": text, "lines": list(lines), "derived": False, "part": "", "conflict": False, **more}


def paragraph(*sentences: Any) -> Json:
    """A paragraph of sentences."""
    return block("paragraph", *sentences)


def block(form: str, *items: Any, header: Sequence[str] = ()) -> Json:
    """A paragraph, list, steps or code; of code the names that are examples are its `header`."""
    return {"form": form, "items": list(items), "header": list(header), "rows": []}


def table(header: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> Json:
    """A table of cells by the name of their row."""
    named: list[Json] = [{"name": name, "cells": list(cells)} for name, cells in rows.items()]
    return {"form": "table", "items": [], "header": list(header), "rows": named}


def section(heading: str, *blocks: Any) -> Json:
    """A heading and what stands under it."""
    return {"heading": heading, "blocks": list(blocks)}


def composed(answer: Sequence[Any] = (), sections: Sequence[Any] = (), missing: Sequence[Any] = ()) -> str:
    """A whole report as a model writes it: Markdown, each sentence with the lines it names behind it."""
    made = [" ".join(map(_marked, answer))]
    for one in sections:
        made += [f"## {one['heading']}", *map(_block, one["blocks"])]
    if missing:
        rows = [
            " | ".join(
                [
                    str(gap["part"]),
                    gap.get("what", ""),
                    "; ".join(gap.get("queries", ())),
                    gap.get("question", ""),
                ]
            )
            for gap in missing
        ]
        made += ["## Missing", "| part | lacking | queries | question |\n|---|---|---|---|\n" + "\n".join(rows)]
    return "\n\n".join(filter(None, made))


def _marked(sentence: Any) -> str:
    """The sentence with its mark; one that stands for another ("@12") has none."""
    text = " ".join(str(sentence["text"]).split())
    if _STANDING.fullmatch(text):
        return text
    return f"{text} {{{_mark(sentence)}}}"


def _mark(sentence: Any) -> str:
    part = sentence.get("part", "")
    signs = ["="] * bool(sentence.get("derived")) + ["!"] * bool(sentence.get("conflict"))
    return " ".join([*signs, *sentence.get("lines", ()), *([f"#{part}"] if part else [])])


def _block(made: Any) -> str:
    items = made.get("items", ())
    match made["form"]:
        case "code":
            examples = f"; examples: {', '.join(made['header'])}" if made.get("header") else ""
            return "\n\n".join(f"```text {{{_mark(one)}{examples}}}\n{one['text']}\n```" for one in items)
        case "table":
            rows = [made["header"], ["---"] * len(made["header"])]
            rows += [[row["name"], *map(_marked, row["cells"])] for row in made.get("rows", ())]
            return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
        case "list" | "steps":
            entries: list[str] = []
            for one in items:
                if one.get("goes_on") and entries:
                    entries[-1] += f" {_marked(one)}"
                else:
                    entries.append(_marked(one))
            mark = "-" if made["form"] == "list" else "2." if made.get("continued") else "1."
            return "\n".join(f"{mark} {entry}" for entry in entries)
    return " ".join(map(_marked, items))


def _shared(one: str, other: str) -> int:
    return len(set(terms(one)) & set(terms(other)))


class ScriptedModel(FaithfulModel):
    """Answers tasks as written down; tasks that are not are done faithfully.

    Args:
        answers: for each task one answer for all calls, or a list of them (the last one repeats). An answer is JSON, a
            text, an error to raise, or a function of what was seen.
    """

    def __init__(
        self,
        answers: "Mapping[str, Answer | Sequence[Answer]] | None" = None,
        *,
        roles: Sequence[ModelRole] = tuple(ModelRole),
        usd_per_million: Decimal | None = Decimal(1),
        thinking: Sequence[int] = (0,),
    ) -> None:
        super().__init__(roles=roles, usd_per_million=usd_per_million, thinking=thinking)
        self._answers = {
            task: list(given) if isinstance(given, list) else [given] for task, given in (answers or {}).items()
        }

    def answer(self, seen: Seen) -> Json:
        """The next answer of the script."""
        left = self._answers.get(seen.task)
        if left is None:
            return super().answer(seen)
        given = left.pop(0) if len(left) > 1 else left[0]

        made = cast("Json | PinciteError", given(seen) if callable(given) else given)
        if isinstance(made, PinciteError):
            raise made
        return made
