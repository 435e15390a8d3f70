"""robots.txt: parsing and matching by RFC 9309, read as the largest crawler reads it where the RFC is silent.

Below it what single pages say of their use. Pure and linear in the size of the file; fetching and caching are in
`robots_gate`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import UTC, datetime

from pincite.domain.frozen import dataclass
from pincite.fetch.limits import CRAWL_DELAY_MAX_S, ROBOTS_BYTES_MAX

# As Google's parser has it: eight times 2,083, the longest URL of old browsers.
_LINE_BYTES_MAX = 16_664
_TOKEN = re.compile(rb"[A-Za-z_-]*")
_ESCAPE = re.compile(rb"%[0-9a-fA-F]{2}")
_NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE]\d+)?")
_INDEX = b"/index.htm"
# Prefixes of keys, with the misspellings that are common enough to be meant.
_KEYS = (
    (b"user-agent", "agent"),
    (b"useragent", "agent"),
    (b"user agent", "agent"),
    (b"allow", "allow"),
    (b"disallow", "disallow"),
    (b"dissallow", "disallow"),
    (b"dissalow", "disallow"),
    (b"disalow", "disallow"),
    (b"diasllow", "disallow"),
    (b"disallaw", "disallow"),
    (b"crawl-delay", "delay"),
    (b"content-signal", "signal"),
    (b"content-usage", "signal"),
)


@dataclass(slots=True)
class _Group:
    agents: set[bytes] = field(default_factory=set)
    is_global: bool = False
    rules: list[tuple[bool, bytes]] = field(default_factory=list)
    delay: bytes = b""
    signals: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _RulesFor:
    """What the groups that apply to one agent come to."""

    allowed: tuple[bytes, ...]
    denied: tuple[bytes, ...]
    delay_s: float | None
    signals: dict[str, str]


@dataclass(frozen=True, slots=True)
class Robots:
    """What one robots.txt says."""

    groups: tuple[_Group, ...] = ()
    _rules: dict[str, _RulesFor] = field(default_factory=dict, init=False, repr=False, compare=False)

    def allows(self, url: str, agent: str) -> bool:
        """Whether `agent` (a product token) may fetch `url`, given as it is sent.

        Source: RFC 9309 §2.2.2: the longest matching rule wins, allow wins a tie, no match means allowed.
        """
        rules = self._rules_for(agent)
        if not rules.denied:
            return True
        path = _path(url)
        # Longest first, as octets: `$` and `*` count as one each, as in Google's parser.
        allow = max((_allow_match(path, pattern) for pattern in rules.allowed), default=0)
        deny = max((_match(path, pattern) for pattern in rules.denied), default=0)
        return deny <= max(allow, 0)

    def delay_s(self, agent: str) -> float | None:
        """Seconds between requests that the site asks of `agent`, at most 30; None when it asks nothing readable."""
        return self._rules_for(agent).delay_s

    def signals(self, agent: str) -> dict[str, str]:
        """What the site says about the use of its pages (`ai-input`, `search`, `train-ai`, ...), lower-case."""
        return self._rules_for(agent).signals

    def _rules_for(self, agent: str) -> _RulesFor:
        """Looked up once for each agent: a page asks three times, and there is one agent."""
        if agent not in self._rules:
            groups = self._groups(agent)
            rules = [rule for group in groups for rule in group.rules]
            delays = (float(group.delay) for group in groups if _NUMBER.fullmatch(group.delay))
            self._rules[agent] = _RulesFor(
                tuple(pattern for allows, pattern in rules if allows),
                tuple(pattern for allows, pattern in rules if not allows),
                next((min(delay_s, CRAWL_DELAY_MAX_S) for delay_s in delays), None),
                {name: said for group in groups for name, said in group.signals.items()},
            )
        return self._rules[agent]

    def _groups(self, agent: str) -> list[_Group]:
        """The groups that apply: all that name the agent, else all for everyone."""
        token = agent.split("/", 1)[0].strip().lower().encode()
        named = [group for group in self.groups if token and token in group.agents]
        # RFC 9309 §2.2.1: a group that names us replaces the one for all, it does not add to it.
        return named or [group for group in self.groups if group.is_global]


def robots_verdict(robots_txt: bytes, url: str, agent: str) -> bool:
    """Whether `agent` may fetch `url` (as `vet_url` gives it) by this robots.txt.

    Source: RFC 9309 §2.2; only the first 500 KiB count (§2.5).
    """
    return parse_robots(robots_txt).allows(url, agent)


def parse_robots(data: bytes) -> Robots:
    """The rules of a robots.txt; whatever isn't a rule is skipped."""
    if len(data) > ROBOTS_BYTES_MAX:
        whole, _, _ = data[:ROBOTS_BYTES_MAX].replace(b"\r", b"\n").rpartition(b"\n")
        data = whole  # a line that the limit cuts could say the opposite of itself
    groups: list[_Group] = []
    after_rule = True
    for key, value in _lines(data):
        if key == "agent":
            # Names that follow each other share the rules after them; a name after a rule begins a new group.
            if after_rule or not groups:
                groups.append(_Group())
                after_rule = False
            _name(groups[-1], value)
        elif not groups:
            continue
        elif key == "delay":
            groups[-1].delay = value
        elif key == "signal":
            groups[-1].signals.update(parse_signal(value.decode("utf-8", "replace")))
        else:
            after_rule = True
            groups[-1].rules.append((key == "allow", _escaped(value)))
    return Robots(tuple(groups))


def parse_signal(value: str) -> dict[str, str]:
    """`ai-input=no, search=yes` as a lower-case table.

    Source: Content-Signal as published by its makers; the Content-Usage draft of the IETF aipref group.
    """
    pairs = (piece.partition("=") for piece in value.lower().split(","))
    return {name.strip(): said.strip() for name, equals, said in pairs if equals and name.strip()}


def _lines(data: bytes) -> Iterator[tuple[str, bytes]]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    for raw in data.replace(b"\r", b"\n").split(b"\n"):
        line = raw[:_LINE_BYTES_MAX].partition(b"\x00")[0].partition(b"#")[0].strip()
        if not line:
            continue
        name, colon, value = line.partition(b":")
        if not colon:  # "disallow /x": accepted when it is exactly two words
            words = line.split()
            if len(words) != 2:
                continue
            name, value = words
        name = name.strip().lower()
        key = next((meaning for prefix, meaning in _KEYS if name.startswith(prefix)), None)
        if key is not None:
            yield key, value.strip()


def _name(group: _Group, value: bytes) -> None:
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        group.is_global = True
        return
    token = _TOKEN.match(value)
    if token and token[0]:
        group.agents.add(token[0].lower())


def _escaped(pattern: bytes) -> bytes:
    """Bytes outside ASCII percent-encoded, escapes in upper case.

    Source: RFC 9309 §2.2.2.
    """
    plain = b"".join(b"%%%02X" % byte if byte >= 0x80 else bytes((byte,)) for byte in pattern)
    return _ESCAPE.sub(lambda match: match[0].upper(), plain)


def _path(url: str) -> bytes:
    """Path, parameters and query of the URL; nothing is decoded."""
    # By hand and byte by byte: a parsed URL would be normalised, and rules match what is sent.
    start = 2 if url.startswith("//") else 0
    scheme = url.find("://", start)
    early = min((at for at in (url.find(char, start) for char in "/?;") if at >= 0), default=-1)
    host = start if scheme < 0 or 0 <= early < scheme else scheme + 3
    at = min((place for place in (url.find(char, host) for char in "/?;") if place >= 0), default=-1)
    fragment = url.find("#", start)
    if at < 0 or 0 <= fragment < at:
        return b"/"
    path = url[at : fragment if fragment >= 0 else len(url)].encode("utf-8", "surrogatepass")
    path = path if path.startswith(b"/") else b"/" + path
    return _ESCAPE.sub(lambda match: match[0].upper(), path)


def _allow_match(path: bytes, rule: bytes) -> int:
    """As `_match`, for allow rules: one that names an index page allows its folder too."""
    found = _match(path, rule)
    if found < 0 and rule.rpartition(b"/")[2].startswith(_INDEX[1:]):
        return _match(path, rule[: rule.rfind(b"/") + 1] + b"$")
    return found


def _match(path: bytes, rule: bytes) -> int:
    """The length of `rule` when it matches the start of `path`, else -1.

    Linear: the pieces between wildcards are searched left to right, the earliest place of each is enough.
    """
    anchored = rule.endswith(b"$")
    pieces = (rule[:-1] if anchored else rule).split(b"*")
    first, rest = pieces[0], pieces[1:]
    if not path.startswith(first):
        return -1
    at = len(first)
    if not rest:
        return len(rule) if not anchored or at == len(path) else -1
    for piece in rest[:-1]:
        found = path.find(piece, at)
        if found < 0:
            return -1
        at = found + len(piece)
    last = rest[-1]
    if anchored:
        return len(rule) if len(path) - len(last) >= at and path.endswith(last) else -1
    return len(rule) if path.find(last, at) >= 0 else -1


# What a page says about its use: X-Robots-Tag, reservation headers, Content-Usage. Obeyed elsewhere.

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
