"""The text of a page that stands in its data and not in its markup: JSON-LD, and the data that scripts build it from.

A second source only. It is asked when the markup has next to no text, gives HTML that is read as any other, and
whoever takes it says so: a reader of the page may see something else.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from html import escape

from pincite.domain.frozen import dataclass
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.metadata import linked_data

JSON_LD, PAGE_DATA = "json-ld", "page data"
_STATE = re.compile(
    r"__NEXT_DATA__|__NUXT_|__NUXT__|__INITIAL_STATE__|__PRELOADED_STATE__|__APOLLO_STATE__|__remixContext|"
    r"__INITIAL_DATA__|__sveltekit_|__next_f"
)
_FLIGHT = re.compile(r"""__next_f\s*\.\s*push\(\s*\[\s*1\s*,\s*("(?:[^"\\]|\\.)*")\s*\]\s*\)""", re.DOTALL)
_FLIGHT_ROW = re.compile(r"^([0-9a-f]+):(?:[A-Z]+)?(?=[\[{\"])", re.MULTILINE)
_REFERENCE = re.compile(r"\$L?([0-9a-f]+)\Z")
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.){20,}"')
_MARKUP = re.compile(r"<(?:p|h[1-6]|li|br|div|ul|ol|table|blockquote|section|article)\b[^<>]*>", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?…。！？](?:[\s\"”’)]|\Z)")
_CODE_LIKE = re.compile(r"[{};]\s|=>|function\s*\(|://\S+\s*\Z")
_PARAGRAPHS = frozenset({"paragraph", "p", "block", "text-block"})
_HEADING = re.compile(r"(?:heading[-_ ]?|h)([1-6])?\Z")
_TITLES = ("headline", "title", "heading")
_ELEMENTS = frozenset(
    "article section div main p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot tr td th caption pre code "
    "blockquote figure figcaption span strong em b i a sup sub del s br hr".split()
)
# Shorter strings of data are labels, keys and names.
_SPOKEN_WORDS = 8
# A bound on the walk through data of somebody else.
_MAX_NODES = 60_000
# Below Python's own limit of recursion, with the calls between.
_MAX_DEPTH = 120
# As `dom._MAX_SCRIPT_CHARS`.
_MAX_CHARS = 3_000_000


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a page's data says: where it stood, and the text as HTML."""

    source: str
    html: str
    words: int


def data_chars(page: Page) -> int:
    """How many characters of data the page carries: none of it is looked at."""
    scripts = sum(len(script) for script in page.scripts if _STATE.search(script))
    linked = sum(len(script.text or "") for script in page.root.iter("script"))
    return linked + scripts + sum(len(text) for _, text in page.data)


def embedded_text(page: Page) -> Embedded | None:
    """The longest text in the page's data; an article in JSON-LD counts before what scripts would make of theirs."""
    found = [_of_pieces(JSON_LD, _bodies(page))]
    found.extend(_of_pieces(PAGE_DATA, _from_json(text)) for _, text in page.data)
    flight = "".join(_decoded(match) for script in page.scripts for match in _FLIGHT.findall(script))
    if flight:
        found.append(_of_pieces(PAGE_DATA, _from_flight(flight)))
    states = (script for script in page.scripts if _STATE.search(script) and "__next_f" not in script)
    found.extend(_of_pieces(PAGE_DATA, _from_script(script)) for script in states)
    best = max(found, key=lambda item: item.words * (2 if item.source == JSON_LD else 1))
    return best if best.words else None


def _of_pieces(source: str, pieces: Iterator[str]) -> Embedded:
    kept: dict[str, None] = {}
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > _MAX_CHARS:
            break
        kept.setdefault(piece)
    html = "\n".join(kept)
    return Embedded(source, html, len(re.sub(r"<[^<>]*>", " ", html).split()))


def _bodies(page: Page) -> Iterator[str]:
    """Headline and text of the articles in JSON-LD."""
    for node in linked_data(page.root):
        body = node.get("articleBody") or node.get("reviewBody")
        if isinstance(body, str) and body.strip():
            headline = node.get("headline") or node.get("name")
            if isinstance(headline, str) and headline.strip():
                yield f"<h1>{escape(headline.strip())}</h1>"
            yield body if _MARKUP.search(body) else _paragraphs(body)


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line.strip())}</p>" for line in re.split(r"\n+", text) if line.strip())


def _from_json(text: str) -> Iterator[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return iter(())
    return _Prose().of(value)


def _from_script(script: str) -> Iterator[str]:
    """What an assignment of data holds: its JSON, else the sentences among its string literals."""
    start = script.find("{", script.find("="))
    end = script.rfind("}")
    if 0 <= start < end:
        try:
            return _Prose().of(json.loads(script[start : end + 1]))
        except (ValueError, RecursionError):
            pass
    return (piece for literal in _LITERAL.findall(script) if (piece := _spoken(_decoded(literal))))


def _decoded(literal: str) -> str:
    try:
        value = json.loads(literal)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _spoken(text: str) -> str:
    """A string as HTML when it is text for a reader: markup of paragraphs, or sentences."""
    if len(text) < 20:
        return ""
    if _MARKUP.search(text):
        return text
    if len(text.split()) < _SPOKEN_WORDS or not _SENTENCE.search(text) or _CODE_LIKE.search(text):
        return ""
    return _paragraphs(text)


@dataclass(slots=True)
class _Prose:
    """One walk over data for what is text in it: rich text by its blocks, markup, sentences, titles."""

    nodes: int = 0

    def of(self, value: object, depth: int = 0) -> Iterator[str]:
        self.nodes += 1
        if self.nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return
        if isinstance(value, str):
            if piece := _spoken(value):
                yield piece
        elif isinstance(value, list):
            for item in value:
                yield from self.of(item, depth + 1)
        elif isinstance(value, dict):
            yield from self._object(value, depth)

    def _object(self, node: Mapping[str, object], depth: int) -> Iterator[str]:
        block = _rich_block(node)
        if block is not None:
            yield block
            return
        inside = [piece for name, item in node.items() if name not in _TITLES for piece in self.of(item, depth + 1)]
        title = next((node[name] for name in _TITLES if isinstance(node.get(name), str)), "")
        if inside and isinstance(title, str) and title.strip():
            yield f"<h2>{escape(title.strip())}</h2>"
        yield from inside


def _rich_block(node: Mapping[str, object]) -> str | None:
    """A paragraph or heading of rich text (Contentful, Portable Text, ProseMirror, Slate, Editor.js), or None.

    Source: their published node formats.
    """
    kinds = [str(node.get(name) or "").lower() for name in ("style", "nodeType", "type", "_type")]
    heading = next((match for kind in kinds if (match := _HEADING.match(kind))), None)
    if heading is None and not _PARAGRAPHS.intersection(kinds):
        return None
    said = " ".join("".join(_leaves(node, 0)).split())
    if not said:
        return None
    level = heading.group(1) or "2" if heading else ""
    return f"<h{level}>{escape(said)}</h{level}>" if heading else f"<p>{escape(said)}</p>"


def _leaves(node: object, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for item in node:
            yield from _leaves(item, depth + 1)
    elif isinstance(node, dict):
        for name in ("text", "value"):
            if isinstance(node.get(name), str):
                yield str(node[name])
        for name in ("content", "children", "nodes", "data"):
            yield from _leaves(node.get(name), depth + 1)


def _from_flight(text: str) -> Iterator[str]:
    """The elements of React's flight format as HTML.

    Source: React server components, wire format: rows `id:json`, elements `["$", tag, key, props]`.
    """
    rows: dict[str, object] = {}
    starts = list(_FLIGHT_ROW.finditer(text))
    decoder = json.JSONDecoder()
    for match in starts:
        try:
            rows[match.group(1)] = decoder.raw_decode(text, match.end())[0]
        except (ValueError, RecursionError):
            continue
    if not rows:
        return
    flight = _Flight(rows)
    for name in list(rows):
        html = "".join(flight.row(name))
        if html.strip() and len(re.sub(r"<[^<>]*>", " ", html).split()) >= _SPOKEN_WORDS:
            yield html


@dataclass(slots=True)
class _Flight:
    rows: Mapping[str, object]
    done: set[str] = field(default_factory=set)
    nodes: int = 0

    def row(self, name: str) -> Iterator[str]:
        """A row that no other has shown yet."""
        if name not in self.done and name in self.rows:
            self.done.add(name)
            yield from self._shown(self.rows[name], 0, inside=False)

    def _shown(self, value: object, depth: int, *, inside: bool) -> Iterator[str]:
        self.nodes += 1
        if self.nodes > _MAX_NODES or depth > _MAX_DEPTH:
            return
        if isinstance(value, str):
            reference = _REFERENCE.match(value)
            if reference:
                yield from self.row(reference.group(1))
            elif inside and not value.startswith("$"):
                yield escape(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and inside:
            yield str(value)
        elif isinstance(value, list) and len(value) >= 4 and value[0] == "$" and isinstance(value[1], str):
            yield from self._element(value[1], value[3], depth)
        elif isinstance(value, list):
            for item in value:
                yield from self._shown(item, depth + 1, inside=inside)

    def _element(self, tag: str, props: object, depth: int) -> Iterator[str]:
        if tag in {"script", "style", "template", "head", "title", "meta", "link", "noscript", "svg"}:
            return
        if not isinstance(props, dict) or "hidden" in props:
            return
        raw = props.get("dangerouslySetInnerHTML")
        known = tag if tag in _ELEMENTS else "div" if not tag.startswith("$") else ""
        yield f"<{known}>" if known else ""
        if isinstance(raw, dict) and isinstance(raw.get("__html"), str):
            yield raw["__html"]
        else:
            yield from self._shown(props.get("children"), depth + 1, inside=bool(known))
        yield f"</{known}>" if known and known not in {"br", "hr"} else ""
