"""What elements inside a line mean: links, emphasis, raised and lowered text, what is struck out, formulas, quotations.

Numbers stay what a reader sees: an exponent has a caret, a footnote's mark brackets, so that neither becomes a part of
the figure before it.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from pincite.domain.page import MarkKind
from pincite.fetch.extractors.formulas import math_text
from pincite.fetch.extractors.writing import InlineText

_MARKS = {
    "a": MarkKind.LINK,
    **dict.fromkeys(("b", "strong"), MarkKind.STRONG),
    **dict.fromkeys(("i", "em", "var", "cite", "dfn"), MarkKind.EMPHASIS),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), MarkKind.CODE),
    **dict.fromkeys(("del", "s", "strike"), MarkKind.STRUCK),
}
# After these a digit begins a number of its own.
_APART = frozenset({MarkKind.SUPERSCRIPT, MarkKind.SUBSCRIPT, MarkKind.REFERENCE, MarkKind.STRUCK})
_TOLD = frozenset({*_MARKS, "q", "sup", "sub", "abbr", "acronym", "math", "math-tex", "rt", "rp"})
_SET_OFF = re.compile(r"(?:^|;)\s*vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_LINED_OUT = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_PLACE_OF_ITS_OWN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*(?:block|(flex|grid)|table|list-item)|float\s*:\s*(?:left|right)|position\s*:\s*absolute)\b",
    re.IGNORECASE,
)
# Each holds a figure whole: the pages of a list, the hours of a day.
_WHOLE = frozenset({"a", "time", "data", "button"})
_PERMALINKS = frozenset(
    {"", "¶", "#", "§", "🔗", "\uf0c1", "\u200b", "Permalink", "[link]", "Link to this heading"}
    | {"^", "↩", "↩\ufe0e", "↑", "⤴"}  # back from a footnote
)
_PERMALINK_CLASSES = re.compile(
    r"\b(?:headerlink|permalink|header-anchor|anchor-?link|hash-link|id_link|heading-anchor)\b"
)
_REFERENCE_CLASSES = re.compile(r"\b(?:reference|footnote|footnote-?ref|fn-?ref|noteref|endnote|cite_ref)\b", re.I)
_BRACKETED = re.compile(r"[\[(].*[\])]", re.DOTALL)
# A calculation in brackets, with no word in it: what is raised behind it is its power, behind any other a note.
_CALCULATION = re.compile(r"\((?![^()]*[^\W\d_]{3})[^()]*(?:[+*/×·−=±^]|\b\w ?- ?\w\b)[^()]*\)\Z")
# The value of a function: one letter or a name all of mathematics knows, and what it is of. "author(s)" is none.
_FUNCTION = re.compile(
    r"(?:(?<![^\W_])[^\W\d_]|\b(?:sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|log|ln|exp))\((?! )[^() ]{1,20}\)\Z"
)
# Several notes at one place. Figures in a list are no power, and letters in one are none of the figure before them.
_NOTED_FIGURES = re.compile(r"[1-9]\d{0,2}(?:\s?[,;–-]\s?[1-9]\d{0,2})+")
_NOTED_LETTERS = re.compile(r"[a-z](?:\s?[,;–-]\s?[a-z])+", re.IGNORECASE)
# What would go on with the figure before it, or be subtracted from it.
_LOWERED = re.compile(r"[+\-−–]?\w")
# A figure that several notes may stand behind: of two digits and more, or a percentage. Powers with a fraction in them
# ("10^1,5", "2^1,5") have ten or one digit below.
_NOTED = re.compile(r"(?:[^\W\d_]{2}|[)%]|(?<![\d.,])(?!10\Z)\d[\d.,]*\d)\Z")
_DECIMAL = re.compile(r"\d[.,]\d+\Z")
# What a link inside the page says when it is the mark of a note; numbers of pages and lines are no longer.
_NOTE_MARK = re.compile(r"\d{1,3}|[*†‡§¶]+")
_SLASHES = frozenset({"/", "⁄", "∕"})
_FRACTION = re.compile(r"\d{1,4}⁄\d{1,4}")
_FRACTION_CHARS = 9
_CENTS = re.compile(r"[.,]?\d\d")
_PRICED = re.compile(r"[$€£¥] ?\d[\d,.]*\Z")
_FIGURE = re.compile(r"\d[.,]?\Z")
_MONEY = re.compile(r"\s?[$€£¥]")
_NUMBERING = re.compile(r"[\d*†‡§¶,;\s–-]+")
# Single letters that are raised at the end of abbreviated words and ordinals in Romance languages (nº, 2ª, XIXe).
_RAISED_ENDINGS = frozenset({"a", "o", "e", "r"})
_ENDS_SENTENCE = frozenset('.,;:!?…"”’»)')
# Titles of abbreviations are short; longer ones are tooltips.
_MAX_TITLE_CHARS = 200
# Longer ones hold data or a session; no page is found under them later.
_MAX_HREF_CHARS = 2_000
# What joining and splitting again would give back as it is; most links are such.
_WHOLE_ADDRESS = re.compile(r"https?://[\w.-]+(?::\d+)?/[^\s;?#\[\]]*\Z")
# What begins at the root of its site and names no folder to go up from: joining puts the site before it.
_PATH_FROM_ROOT = re.compile(r"/(?![/.])(?:[^\s;?#\[\]/]|/(?!\.))*\Z")
_SITE = re.compile(r"https?://[\w.-]+(?::\d+)?(?=/)")


@dataclass(slots=True)
class InlineReader:
    """Collects the text of a block and gives elements inside it their meaning."""

    base_url: str
    targets: dict[str, str] = field(default_factory=dict)
    text: InlineText = field(default_factory=InlineText)
    _open: list[tuple[HtmlElement, MarkKind, str | None]] = field(default_factory=list)

    def enter(self, element: HtmlElement) -> bool:
        """Begin an element; False when its inside is not to be walked."""
        tag = element.tag
        before = element.getprevious() if tag in _WHOLE else None
        if before is not None and before.tag in _WHOLE and not before.tail:  # one like it ends here
            if self.text.last.isdigit():
                self.text.space()
            else:
                self.text.keep_apart()
        elif self.text.last.isdigit() and _FRACTION.fullmatch(_short_text(element)):
            self.text.space()  # two and three quarters
        if tag not in _TOLD:
            if tag.endswith(":math"):
                return self._formula(element)
            self.style(element)
            return True
        if tag in _MARKS:
            return self._marked(element, _MARKS[tag])
        return self._told(element, tag)

    def style(self, element: HtmlElement) -> None:
        """Heed the element's own style: what it crosses out, raises, lowers, sets beside or below each other."""
        style = element.get("style")
        if not style:
            return
        if (own := _PLACE_OF_ITS_OWN.search(style)) is not None:
            self.text.space()
            for part in element if own.group(1) else ():
                part.tail = f" {part.tail or ''}"
        if _LINED_OUT.search(style):
            self._begin(element, MarkKind.STRUCK)
        elif (moved := _SET_OFF.search(style)) is not None:
            self._told(element, "sup" if moved.group(1).lower() == "super" else "sub")

    def strike(self, element: HtmlElement) -> None:
        """Cross out what follows, if the style of an element around it says so."""
        if _LINED_OUT.search(element.get("style") or ""):
            self._begin(element, MarkKind.STRUCK)

    def leave(self, element: HtmlElement) -> None:
        """End an element."""
        if element.tag == "q":
            self.text.add("”")
        elif element.tag == "rt" and (element.text or "").strip():
            self.text.add(")")
        waiting = self._open
        while waiting and waiting[-1][0] is element:
            _, kind, closing = waiting.pop()
            if kind is MarkKind.REFERENCE and closing:
                self.text.add(closing)
            self.text.close(kind)
            if kind is MarkKind.SUPERSCRIPT and closing is not None:
                self.text.add(closing)
                self.text.end_power()
            elif kind in _APART:
                self.text.keep_apart()
        if (style := element.get("style")) and _PLACE_OF_ITS_OWN.search(style):
            self.text.space()

    def _begin(
        self, element: HtmlElement, kind: MarkKind, *, href: str = "", title: str = "", closing: str | None = None
    ) -> None:
        """Open a mark; `closing` is what is written after it, and what an exponent has, be it nothing."""
        if kind is MarkKind.STRUCK:
            self.text.keep_apart()  # the old price and the new one
        self.text.open(kind, href, title)
        self._open.append((element, kind, closing))

    def _marked(self, element: HtmlElement, kind: MarkKind) -> bool:
        if kind is MarkKind.LINK and is_permalink(element):
            return False
        if kind is MarkKind.LINK and self.text.last.isalnum() and _is_note_mark(element):
            self._begin(element, MarkKind.REFERENCE, closing="]")
            self.text.add("[")
            return True
        if kind is not MarkKind.STRUCK:
            self.style(element)
        href = self._target(element) if kind is MarkKind.LINK else ""
        self._begin(element, kind, href=href)
        return True

    def _told(self, element: HtmlElement, tag: str) -> bool:
        match tag:
            case "q":
                self.text.add("“")
            case "sup":
                self._raised(element)
            case "sub":
                # A figure below a figure is written with an underscore; below a letter (CO2) custom writes none.
                said = "".join(element.itertext()).strip()
                if self.text.last.isdigit() and _LOWERED.match(said):
                    self.text.add("_")
                self._begin(element, MarkKind.SUBSCRIPT)
            case "math" | "math-tex":
                return self._formula(element)
            case "rp":
                return False
            case "rt":
                if (element.text or "").strip():
                    self.text.add("(")
            case _:
                title = " ".join((element.get("title") or "").split())[:_MAX_TITLE_CHARS]
                if title:
                    self._begin(element, MarkKind.ABBREVIATION, title=title)
        return True

    def _formula(self, element: HtmlElement) -> bool:
        """Write a formula whole. It never touches a figure before it."""
        formula = (element.text or "").strip() if element.tag == "math-tex" else math_text(element)
        if formula:
            if self.text.last.isdigit() and formula[0].isdigit():
                self.text.space()  # one and three quarters
            self.text.open(MarkKind.FORMULA)
            self.text.add(formula)
            self.text.close(MarkKind.FORMULA)
            self.text.keep_apart()
        return False

    def _raised(self, element: HtmlElement) -> None:
        """An exponent, the mark of a footnote, or the raised end of a word."""
        said = " ".join("".join(element.itertext()).split())
        last = self.text.last
        if not said or not last or last.isspace():
            self._begin(element, MarkKind.SUPERSCRIPT)
            return
        if self._is_reference(element, said, last):
            bracketed = _BRACKETED.fullmatch(said) or not any(char.isalnum() for char in said)
            self._begin(element, MarkKind.REFERENCE, closing="" if bracketed else "]")
            if not bracketed:
                self.text.add("[")
            return
        if last.isdigit() and _is_numerator(element, said):
            self.text.space()
            self._begin(element, MarkKind.SUPERSCRIPT)
            return
        opening, closing = _caret(said, last)
        if self._are_cents(element, said):
            opening, closing = "." if opening and said.isdigit() else "", None
            self.text.doubt()
        if opening:
            self.text.add(opening)
        self._begin(element, MarkKind.SUPERSCRIPT, closing=closing)

    def _is_reference(self, element: HtmlElement, said: str, last: str) -> bool:
        for anchor in element.iter("a"):
            href = anchor.get("href") or ""  # a power is no link
            if href.startswith("#") or (
                href and _NUMBERING.fullmatch(said) and "".join(anchor.itertext()).strip() == said
            ):
                return True
        parent = element.getparent()
        if parent is not None and parent.tag == "a" and "#" in (parent.get("href") or ""):
            return True
        if element.get("role") == "doc-noteref" or _REFERENCE_CLASSES.search(element.get("class") or ""):
            return True
        if self._are_notes(said, last) or (last == "%" and _NUMBERING.fullmatch(said)):
            return True  # nothing is raised to the power of a percentage
        if last not in _ENDS_SENTENCE or not _NUMBERING.fullmatch(said):
            return bool(_BRACKETED.fullmatch(said))
        if self._are_cents(element, said):
            return False
        before = self.text.before() if last == ")" else ""
        return not (_CALCULATION.search(before) or _FUNCTION.search(before))

    def _are_notes(self, said: str, last: str) -> bool:
        """Whether the raised text is a list of notes, or a letter that no ordinal number ends in."""
        before = self.text.before()
        if _NOTED_FIGURES.fullmatch(said):
            return _NOTED.search(before) is not None
        if said in _RAISED_ENDINGS and said != "o":  # "20.5 ºC" is often set with one
            return _DECIMAL.search(before) is not None
        return (last.isdigit() or last in "%)") and _NOTED_LETTERS.fullmatch(said) is not None

    def _are_cents(self, element: HtmlElement, said: str) -> bool:
        """Whether the raised figure is the lesser part of a price: `$4<sup>99</sup>`."""
        if _CENTS.fullmatch(said) is None:
            return False
        before = self.text.before()
        ends = _MONEY.match(element.tail or "") is not None
        return (_FIGURE if ends else _PRICED).search(before) is not None

    def _target(self, anchor: HtmlElement) -> str:
        """The absolute http(s) target of a link, or nothing."""
        href = (anchor.get("href") or "").strip()
        if href == "#":  # a button in disguise
            return ""
        known = self.targets.get(href)
        if known is None:
            known = self.targets[href] = absolute(self.base_url, href)
        return known


def _short_text(element: HtmlElement) -> str:
    """The text of an element that may be a fraction; of a longer one its beginning."""
    said = ""
    for piece in element.itertext():
        said += piece[: _FRACTION_CHARS + 1]
        if len(said) > _FRACTION_CHARS:
            break
    return said


def _is_note_mark(anchor: HtmlElement) -> bool:
    """Whether the link leads to a note below: a number or a sign alone, to a place in this page."""
    href = anchor.get("href") or ""
    return (
        len(href) > 1 and href[0] == "#" and not len(anchor) and bool(_NOTE_MARK.fullmatch((anchor.text or "").strip()))
    )


def _is_numerator(element: HtmlElement, said: str) -> bool:
    """Whether the raised number stands above a slash and a lowered one: `<sup>3</sup>/<sub>4</sub>`."""
    after, between = element.getnext(), (element.tail or "").strip()
    if after is not None and after.tag == "span" and not between and not len(after):  # the slash in one of its own
        after, between = after.getnext(), (after.text or "").strip() + (after.tail or "").strip()
    below = "".join(after.itertext()).strip() if after is not None and after.tag == "sub" else ""
    return said.isdigit() and below.isdigit() and between in _SLASHES


def _caret(said: str, last: str) -> tuple[str, str | None]:
    """What is written before and after raised text that stands behind `last`: a caret where it is an exponent."""
    signed = said.lstrip("+-−–")
    is_power = any(char.isdigit() for char in said) or (len(said) == 1 and said.isalpha())
    if not is_power or not (last.isalnum() or last in ")]}") or said in _RAISED_ENDINGS:
        return "", None
    plain = signed.replace(".", "").replace(",", "").isalnum()
    return ("^", "") if plain else ("^(", ")")


def is_permalink(anchor: HtmlElement) -> bool:
    """Whether the anchor only points at the heading it stands in, or from a name to its source (Sphinx)."""
    href = anchor.get("href") or ""
    if "#" not in href:
        return False
    if len(anchor) == 1 and not (anchor.text or "").strip() and "viewcode-link" in (anchor[0].get("class") or ""):
        return True
    if _PERMALINK_CLASSES.search(anchor.get("class") or ""):
        said = "".join(anchor.itertext()).strip()
        if said in _PERMALINKS or not any(char.isalnum() for char in said):
            return True
        parent = anchor.getparent()  # a heading may be a link to itself, whole
        return parent is not None and "".join(parent.itertext()).strip() != said
    return len(anchor) == 0 and href.startswith("#") and (anchor.text or "").strip() in _PERMALINKS


def absolute(base_url: str, href: str) -> str:
    """`href` against `base_url` when that gives an http(s) URL of sane length, else nothing."""
    if not href or len(href) > _MAX_HREF_CHARS:
        return ""
    if _WHOLE_ADDRESS.match(href):
        return href
    if _PATH_FROM_ROOT.match(href) and (site := _SITE.match(base_url)):
        return site.group() + href
    try:
        target = urljoin(base_url, href)
        return target if urlsplit(target).scheme in {"http", "https"} else ""
    except ValueError:
        return ""
