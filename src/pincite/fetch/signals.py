"""What a page says about its use: X-Robots-Tag, reservation headers, Content-Usage. Obeyed elsewhere."""

from collections.abc import Iterable
from datetime import UTC, datetime

from pincite.fetch.robots import parse_signal

_VALUED = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
_PLAIN = frozenset(
    {"all", "noindex", "nofollow", "none", "noarchive", "nosnippet", "noimageindex", "notranslate", "indexifembedded"}
    | {"noai", "noimageai", "nocache"}
)


def page_signals(headers: Iterable[tuple[str, str]], agent: str, *, now: datetime | None = None) -> tuple[str, ...]:
    """The signals in the response headers that concern `agent`, in order, without repeats.

    `unavailable_after` with a date in the past also counts as `noindex`.
    """
    found: list[str] = []
    for name, value in headers:
        if name == "x-robots-tag":
            found.extend(_robots_tag(value, agent.lower(), now or datetime.now(UTC)))
        elif name == "tdm-reservation" and value.strip() == "1":
            found.append("tdm-reservation")
        elif name in {"content-usage", "content-signal"}:
            found.extend(f"{key}={said}" for key, said in parse_signal(value).items())
    return tuple(dict.fromkeys(found))


def _robots_tag(value: str, agent: str, now: datetime) -> list[str]:
    """The directives of one X-Robots-Tag value; a leading `name:` addresses them to one agent."""
    found: list[str] = []
    name, colon, rest = value.partition(":")
    addressed = name.strip().lower()
    if colon and "," not in name and addressed not in _VALUED:
        if addressed != agent:
            return []
        value = rest
    if value.strip().lower().startswith("unavailable_after"):  # its date has a comma in some forms
        return _unavailable(value.partition(":")[2], now)
    for piece in value.split(","):
        directive, colon, argument = piece.strip().lower().partition(":")
        directive = directive.strip()
        if directive == "unavailable_after":
            found.extend(_unavailable(argument, now))
        elif directive in _VALUED and colon:
            found.append(f"{directive}:{argument.strip()}")
        elif directive in _PLAIN:
            found.append(directive)
    return found


def _unavailable(text: str, now: datetime) -> list[str]:
    from email.utils import parsedate_to_datetime

    try:
        after = parsedate_to_datetime(text.strip())
    except ValueError:
        return ["unavailable_after"]
    after = after if after.tzinfo else after.replace(tzinfo=UTC)
    return ["unavailable_after", "noindex"] if after < now else ["unavailable_after"]
