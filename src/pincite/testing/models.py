"""Language models that are no models: scripted ones, and one that faithfully repeats what it read.

They see what a real model sees, the two messages of a prompt, and answer in text.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from decimal import Decimal
from itertools import cycle
from os.path import commonprefix
from typing import TypeAlias, TypeVar, cast

import anyio

from pincite.domain.errors import ModelBadOutput, PinciteError
from pincite.domain.events import Json
from pincite.domain.model import Generation, ModelInfo, ModelRole, ModelUsage, Prompt, TextPiece, messages_of
from pincite.llm.service import read_answer, schema_of
from pincite.testing.seen import Seen as Seen
from pincite.testing.seen import seen_messages as seen_messages
from pincite.text.tokens import is_stop, terms, token_estimate, words

# The fakes themselves as `ports.LanguageModel`: what each one answers to each task.

T = TypeVar("T")
# More than any tokenizer takes for one: no text longer than that can fit.
_CHARS_PER_TOKEN = 8
# Shortest beginning that OpenAI and Anthropic keep.
_CACHED_FROM = 1_024
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
        await self._wait()
        text, finish, usage = self.written(messages.system, messages.user, prompt.cap_tokens, schema, kept)
        try:
            output = read_answer(text, output_type, finish=finish)
        except ModelBadOutput as error:
            raise ModelBadOutput(
                error.message,
                reason=error.reason,
                retryable=error.retryable,
                context={
                    "model": "fake",
                    "tokens_in": usage.tokens_in,
                    "tokens_out": usage.tokens_out,
                    "thinking": usage.thinking,
                    "cost_usd": str(usage.cost_usd or 0),
                },
            ) from None
        return Generation(output, usage, self.info(role)[0].name, "fake", self.latency_s * 1000)

    async def stream_text(
        self, role: ModelRole, prompt: Prompt, *, choice: int = 0, deadline_s: float | None = None
    ) -> AsyncIterator[TextPiece]:
        """The answer word by word."""
        await self._wait()
        messages = messages_of(prompt)
        text, _, usage = self.written(messages.system, messages.user, prompt.cap_tokens)
        for word in text.split(" "):
            yield TextPiece(f"{word} ")
        yield TextPiece("", usage)

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

    async def _wait(self) -> None:
        if self.latency_s:
            self.waited_s += self.latency_s
            await anyio.sleep(self.latency_s)


def _numbers(ranges: str) -> list[int]:
    """The numbers of `l1-l4 l7`."""
    found: list[int] = []
    for low, high in re.findall(r"l(\d+)(?:-l(\d+))?", ranges):
        found += range(int(low), int(high or low) + 1)
    return found


def in_parts(seen: Seen, write: Callable[[Seen], "Json | PinciteError"]) -> "Json | PinciteError":
    """What is written part by part as one answer; a text or an error for one of them is all that comes."""
    made: list[Json] = []
    for name, part in seen.parts().items():
        written = write(part)
        if not isinstance(written, dict):
            return written
        made.append({"id": name, **written})
    return {"parts": made}


class FaithfulModel(ModelFake):
    """A model that does each task honestly by simple rules: it repeats what it read and cites where."""

    def answer(self, seen: Seen) -> Json:
        """The answer to one of our tasks; a plain sentence for anything else."""
        tasks: dict[str, Callable[[Seen], Json]] = {
            "planner": self.plan,
            "follow_up": self.follow_up,
            "analyst": self.analyse,
            "judge": self.judge,
            "judge_statements": self.judge_statements,
            "conflicts": self.conflicts,
            "outline": self.outline,
            "writer": lambda told: cast("Json", in_parts(told, self.write)),
            "edit": self.edit,
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
            "kind": "any",
            "queries": queries,
        }
        return {"parts": [part]}

    def follow_up(self, seen: Seen) -> Json:
        """One more query for each open part."""
        return {
            "parts": [
                {"part": name, "queries": [" ".join([*terms(text)][:6]) + " details"]}
                for name, text in seen.listed("Open parts").items()
            ]
        }

    def analyse(self, seen: Seen) -> Json:
        """The lines that share most with the question, word for word, as claims."""
        parts = seen.listed("Parts") or {"1": seen.question}
        found: list[Json] = []
        for name, text in self.best_lines(seen):
            wanted = max(parts, key=lambda part: len(set(terms(parts[part])) & set(terms(text))))
            found.append(
                {"text": text, "part": wanted, "lines": [name], "quote": "", "kind": "fact", "confidence": 0.8}
            )
        return {"claims": found}

    def best_lines(self, seen: Seen, limit: int = 6) -> list[tuple[str, str]]:
        """The lines worth a claim, best first: whole sentences that share words with the question."""
        asked = set(terms(f"{seen.question} {' '.join(seen.listed('Parts').values())}"))
        scored = [
            (len(asked & set(terms(text))), name, text)
            for name, text in seen.lines.items()
            if 5 <= len(text.split()) <= 60 and text[:1].isupper() and text.rstrip()[-1:] in ".!"
        ]
        ranked = sorted((row for row in scored if row[0] >= 2), key=lambda row: -row[0])
        return [(name, text) for _, name, text in ranked[:limit]]

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
                shown = {f"l{n}" for n in _numbers(seen.lines.get(f"{name} lines", ""))}
                words_there = {term for line in shown for term in terms(seen.lines.get(line, ""))}
                mine = set(terms(text))
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

    def conflicts(self, seen: Seen) -> Json:
        """None."""
        return {"pairs": []}

    def outline(self, seen: Seen) -> Json:
        """The first statement answers; the others follow in sections of five."""
        names: list[Json] = list(seen.statements)
        rest = names[1:] or names
        sections: list[Json] = [
            {"heading": f"Findings, part {'abcdefghijkl'[start // 5]}", "claims": rest[start : start + 5]}
            for start in range(0, min(len(rest), 60), 5)
        ]
        return {"answer": names[:1], "sections": sections}

    def write(self, seen: Seen) -> Json:
        """Each statement, some with other words around them that change nothing."""
        told = list(seen.statements.items())
        return {"sentences": [{"text": self.phrase(n, text), "claims": [name]} for n, (name, text) in enumerate(told)]}

    def edit(self, seen: Seen) -> Json:
        """No change: each statement stands once, under a heading of its own."""
        return {"headings": [], "sentences": [], "order": [], "repeated": []}

    def summarise(self, seen: Seen) -> Json:
        """The first whole sentences."""
        whole = [(name, text) for name, text in seen.lines.items() if text.rstrip()[-1:] == "."][:5]
        return {"sentences": [{"text": self.phrase(n, text), "claims": [name]} for n, (name, text) in enumerate(whole)]}

    def describe(self, seen: Seen) -> Json:
        """The first words of each title."""
        return {
            "notes": [
                {"id": name, "text": " ".join(text.split(":")[0].split()[:6])} for name, text in seen.lines.items()
            ]
        }

    def phrase(self, number: int, text: str) -> str:
        """The statement in a true sentence."""
        forms = ("{}", "According to the source, {}", "{}", "The page says: {}", "The source states that {}")
        return forms[number % len(forms)].format(text)

    def rewrite(self, seen: Seen) -> Json:
        """Each failed sentence as the first statement it may tell, word for word."""
        repairs: list[Json] = []
        for name, text in seen.lines.items():
            if name.endswith(" may tell"):
                wanted = next((part.strip() for part in text.split(",") if part.strip() in seen.lines), "")
                if wanted:
                    repairs.append(
                        {"id": name.removesuffix(" may tell"), "text": seen.lines[wanted], "claims": [wanted]}
                    )
        return {"repairs": repairs}


class ScriptedModel(FaithfulModel):
    """Answers tasks as written down; tasks that are not are done faithfully.

    Args:
        answers: for each task one answer for all calls, or a list of them (the last one repeats). An answer is JSON, a
            text, an error to raise, or a function of what was seen.
        strict: a task without an answer is an error.
    """

    def __init__(
        self,
        answers: "Mapping[str, Answer | Sequence[Answer]] | None" = None,
        *,
        strict: bool = False,
        latency_s: float = 0.0,
        roles: Sequence[ModelRole] = tuple(ModelRole),
        usd_per_million: Decimal | None = Decimal(1),
        thinking: Sequence[int] = (0,),
    ) -> None:
        super().__init__(latency_s=latency_s, roles=roles, usd_per_million=usd_per_million, thinking=thinking)
        self._answers = {
            task: list(given) if isinstance(given, list) else [given] for task, given in (answers or {}).items()
        }
        self._strict = strict

    def answer(self, seen: Seen) -> Json:
        """The next answer of the script."""
        left = self._answers.get(seen.task)
        if left is None:
            if self._strict:
                raise AssertionError(f"the script has no answer to {seen.task!r}")
            return super().answer(seen)
        given = left.pop(0) if len(left) > 1 else left[0]

        def say(asked: Seen) -> "Json | PinciteError":
            return cast("Json | PinciteError", given(asked) if callable(given) else given)

        made = in_parts(seen, say) if seen.task == "writer" else say(seen)
        if isinstance(made, PinciteError):
            raise made
        return made
