"""The one table of what a fetch may ask for: range, choices and meaning of each member of `FetchRequest`.

The library checks requests against it, the command line and the servers take their options from it, and the table in
docs/fetch.md is generated from it. Defaults are those of `FetchRequest` itself.
"""

import re
from dataclasses import dataclass, fields
from typing import Final

from pincite.domain.errors import InvalidInput
from pincite.domain.page import FetchRequest, Hosted, Render


@dataclass(frozen=True, slots=True)
class Rule:
    """What one member means, and which values it takes. `low` and `high` are inclusive."""

    note: str
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    above_0: bool = False
    pattern: str = ""


RULES: Final[dict[str, Rule]] = {
    "mode": Rule(
        "`auto` and `reader` give what was read, `raw` the page's own source", choices=("auto", "reader", "raw")
    ),
    "output_format": Rule("how what was read is written", choices=("markdown", "text")),
    "markdown": Rule(
        "who writes the Markdown: `rules`, or a `model` (docs/models.md); quotes never come from it",
        choices=("rules", "model"),
    ),
    "max_chars": Rule("characters of one window; the rest by `offset`", 1, 12_000),
    "max_html_chars": Rule(
        "characters of one window in mode `raw`, and of the cleaned HTML that a model converts", 1, 120_000
    ),
    "offset": Rule("where the window begins: the `next_offset` of the page before", 0),
    "include_links": Rule("list the links of the page"),
    "max_links": Rule("how many links at most", 0, 500),
    "allow_redirects": Rule("false gives the 3xx answer and its target (`location`)"),
    "persist": Rule("false neither reads nor writes the shared page cache; a run still stores its evidence"),
    "force_refresh": Rule("ask the site even if a copy is fresh"),
    "prefer_language": Rule("sent as `Accept-Language`", pattern=r"[A-Za-z0-9*,;=. -]{1,100}"),
    "render": Rule("whether a browser may be used", choices=tuple(Render)),
    "hosted": Rule("whether a paid scraper that the operator configured may be asked", choices=tuple(Hosted)),
    "include_domains": Rule("only these domains; narrows the operator's list"),
    "exclude_domains": Rule("never these domains"),
    "deadline_s": Rule("seconds in all, at most 40; none means `total_s` below", above_0=True),
    "user_triggered": Rule("a person typed this URL; matters for the setting `robots = user_triggered` alone"),
}

DEFAULTS: Final = FetchRequest("")
"""A request with nothing asked for."""


def check_request(request: FetchRequest) -> None:
    """Return when every member of `request` is within its rule.

    Errors:
        InvalidInput: `reason` is the name of the member.
    """
    for name, rule in RULES.items():
        value = getattr(request, name)
        if rule.choices and value not in rule.choices:
            raise InvalidInput(f"{name} must be one of {', '.join(rule.choices)}", reason=name)
        if rule.low is not None and not isinstance(value, int):
            raise InvalidInput(f"{name} must be a whole number", reason=name)
        if rule.low is not None and value < rule.low:
            bounds = f"between {rule.low} and {rule.high}" if rule.high is not None else f"at least {rule.low}"
            raise InvalidInput(f"{name} must be {bounds}", reason=name)
        if rule.high is not None and value > rule.high:
            raise InvalidInput(f"{name} must be between {rule.low} and {rule.high}", reason=name)
        if rule.above_0 and value is not None and value <= 0:
            raise InvalidInput(f"{name} must be more than 0", reason=name)
        if rule.pattern and value is not None and not re.fullmatch(rule.pattern, value):
            raise InvalidInput(f"{name} is not of its form", reason=name, hint="For instance: de, en;q=0.5")


def shown_defaults() -> dict[str, str]:
    """Every rule's default as the documentation writes it."""
    shown: dict[str, str] = {}
    for field in fields(FetchRequest):
        if field.name in RULES:
            value = field.default
            shown[field.name] = (
                "none" if value in (None, ()) else str(value).lower() if isinstance(value, bool) else str(value)
            )
    return {name: shown[name] for name in RULES}
