"""A prompt as a fake model reads it: the task, our words, and the fenced material with its ids."""

import re
from collections.abc import Mapping
from dataclasses import field

from pincite.domain.frozen import dataclass

_TASK = re.compile(r"^Task: (\w+)", re.MULTILINE)
_LINE_ID = re.compile(r"[a-z]+\d+")
_STANDS = "The report so far"
_FORM = re.compile(r" \(best told as \w+\)(?: \(needs the answer of \d+\))?$")
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
