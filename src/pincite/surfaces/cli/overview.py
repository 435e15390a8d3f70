"""What `pincite` and `pincite --help` show: the commands in groups, by what people come for, with examples."""

from typing import Any

from typer.core import TyperGroup

GREETING = """\
Pincite: research you can check. Every sentence leads to its passage.

  pincite demo      a report over bundled pages: no key, no network
  pincite ui        ask in your browser
  pincite setup     your model, search engines and folders
  pincite --help    everything else
"""

GROUPS: dict[str, tuple[str, ...]] = {
    "Start here": ("demo", "ui", "setup", "doctor"),
    "Ask": ("research", "batch", "search", "fetch", "index"),
    "Check": ("check", "audit", "recheck", "bundle", "eval", "models"),
    "Serve": ("serve", "mcp", "worker", "keys"),
    "Keep": ("runs", "cache", "scope", "log", "completion"),
}

EXAMPLES = (
    'pincite research "How do I ...?" --source local:docs/ -o report.html',
    'pincite research "..." --llm openai:gpt-5-mini',
    "pincite audit report.md",
    "pincite runs resume last",
)


class Overview(TyperGroup):
    """The group of all commands, listed by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # both of the click that typer carries
        """The groups with their commands, then the examples."""
        room = formatter.width - max(map(len, self.commands)) - 6
        listed = {name for names in GROUPS.values() for name in names}
        more = {"More": tuple(name for name in self.commands if name not in listed)}
        for title, names in (GROUPS | more).items():
            rows = [(name, self.commands[name].get_short_help_str(room)) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        with formatter.section("Examples"):
            for example in EXAMPLES:
                formatter.write_text(example)
