"""Takes out of a tree what a reader of the page does not see.

Hidden text is where instructions to machines are put. Dropped: elements that are never rendered as text, the `hidden`
and `aria-hidden` attributes, and inline or simple style-sheet rules that make text invisible (display, visibility,
opacity, size, clip, off-screen, same colour). Attributes and form fields are never text.

Source: ADR 0007; channels after the shipped injection cases.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from html import unescape

from lxml import etree
from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import Page, body_of, remove, size_of
from pincite.fetch.extractors.revealed import FOLDED, folded_sections, is_shown_by_script
from pincite.fetch.extractors.style_rules import hidden_by_rules

# Never rendered as running text; walkers skip these, whoever removes them.
NEVER_TEXT = frozenset(
    "script style noscript template svg canvas iframe frame frameset noframes noembed object embed audio video map "
    "select option optgroup datalist input textarea head progress meter annotation annotation-xml desc metadata "
    "applet portal img picture source track link meta".split()
)
# Of these, what a reader sees between two words.
PICTURES = frozenset({"svg", "canvas", "iframe", "object", "embed", "audio", "video", "img", "picture"})
_SCREEN_READER_CLASSES = frozenset(
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only element-invisible a11y-hidden".split()
)

# Of those signs that make two figures one number.
_HEARD_SIGNS = frozenset("/ ⁄ ∕ + . ,".split())

# A price, a count, a mark out of five; what says more, or is built of blocks, is none.
_PHRASES = frozenset("span del ins s b strong em i small bdi data time sup sub".split())
_PHRASE_CHARS, _PHRASE_WORDS = 40, 2
_LETTERS = re.compile(r"[^\W\d_]+")
_BLOCKS = ("div", "p", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6", "a", "button", "math")
# Figures there number lines.
_EXACT = ("pre", "code", "math")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
# From the price to what holds it and its wording: `span > span > [price]`, `span > [words]`.
_BESIDE_LEVELS = 2

# What a page lays over itself (consent, a newsletter); what is not open does not show at all. Of the words in
# such parts of 833 labelled pages 208 are content and 28,691 are not.
_DIALOGUES = etree.XPath(
    "//*[@role='dialog' or @role='alertdialog' or @aria-modal='true' or (self::dialog and @open)]"
    "[not(ancestor::*[@role='dialog' or @role='alertdialog' or @aria-modal='true'])]"
)
# Beside less a dialogue is the page.
_SHOWN_CHARS = 500
# Behind an open dialogue a page hides its own content from screen readers; everybody else sees it. So it is with what a
# closed `<details>` holds.
_HOLDS_PAGE = etree.XPath(
    "boolean(parent::details or (descendant-or-self::main or descendant::h1 or descendant::article/p)"
    " and not(ancestor-or-self::*[@role='dialog' or @aria-modal])"
    " and not(descendant::*[@role='dialog' or @aria-modal]))"
)
_GONE = re.compile(r"(?:^|;)(?:display:none|content-visibility:hidden)(?![a-z-])")
# What pages put over themselves until their scripts have run; the other ways hide parts of them for good.
_VEILED = re.compile(r"(?:^|;)(?:visibility:(?:hidden|collapse)|opacity:0*(?:\.0\d*)?(?:%|;|!|$))")
_UNSEEN = re.compile(
    r"(?:^|;)(?:"
    r"(?:-webkit-|-moz-)?font-size:(?:(?:0+(?:\.0*)?|\.0+)[a-z%]*(?:;|!|$)|0*[01](?:\.\d+)?(?:px|pt)|0?\.[01]\d*r?em)"
    r"|clip:rect\((?:0|1)(?:px)?[, ]?(?:0|1)(?:px)?[, ]?(?:0|1)(?:px)?[, ]?(?:0|1)(?:px)?\)"
    r"|(?:-webkit-)?clip-path:(?:inset\((?:100|[5-9]\d)%|circle\(0|polygon\(0(?:px|%)?0)"
    r"|text-indent:-\d{3,}"
    r"|(?:left|top|right|bottom|margin-left|margin-top|inset):-\d{4,}"
    r"|transform:(?:translate[xy3d]*\([^)]*-?\d{4,}|scale[xy]?\(0(?:,0)?\)|rotate[xy]\(90deg\))"
    r"|(?:-webkit-)?text-fill-color:transparent"
    r"|color:(?:transparent|rgba\([^)]*,0(?:\.0+)?\)|\#[0-9a-f]{3}0(?![0-9a-f])|\#[0-9a-f]{6}00(?![0-9a-f]))"
    r"|filter:opacity\(0"
    r"|mask-size:0"
    r")"
)
_MOVED = re.compile(r"(?:^|;)(?:left|top|right|bottom|margin-left|margin-top|inset):-(\d{3})(?!\d)")
_NO_SIZE = re.compile(r"(?:^|;)(?:max-)?(?:height|width):[01](?:px|em|rem|%|pt)?(?:;|!|$)")
_OVERFLOW = re.compile(r"(?:^|;)overflow(?:-[xy])?:(?:hidden|clip)")
_COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_RGB = re.compile(r"rgba?\((\d+)[, ]+(\d+)[, ]+(\d+)")
_NAMED = {"white": "ffffff", "black": "000000", "red": "ff0000", "snow": "fffafa", "ivory": "fffff0"}
# Something of this is in all that hides; most styles have none of it and are not taken apart.
_MAY_HIDE = re.compile(
    r"none|hidden|collapse|:\s*\.?0|size\s*:\s*[1.]|-\d{3}|clip|transparent|color|scale|translate|rotate|opacity\(|\*/",
    re.IGNORECASE,
)
# Who hides nearly all of the page means to show it later (a consent wall, a fade-in).
_MOST = 0.8
# A page whose `noscript` holds nearly all, with a quarter of that beside it at most, is a shell. Chosen, not measured.
_SHELL_SHARE = 0.25
# Of a line as wide as a page and 16 px high. What is moved by hundreds of pixels and has more text shows all the same:
# pages lay their text over a picture above it so.
_CHARS_PER_PIXEL = 10
# Of 255 in each colour: letters an eye can't tell from their ground.
_NEAR = 10
# How much more a hidden part must hold than all the rest to be what the page is there to show.
_OUTWEIGHS = 10


def drop_unseen(page: Page) -> int:
    """Remove unseen elements from the page's tree; gives back how many characters of text went with them.

    Text made invisible in a way that scripts commonly undo (opacity, visibility) stays when it is most of the page; so
    does a container beside which the page has next to nothing, where one of its own scripts is seen to show it.
    """
    root = page.root
    _settle_noscript(page)
    total = max(size_of(body_of(root)), 1)
    dropped = 0
    marked = page.still_noted()
    if any(name in page.source for name in _SCREEN_READER_CLASSES):
        known = {*marked, *(element for element in root.iter() if _is_for_screen_readers(element))}
        marked = [element for element in root.iter() if element in known]
    # What a sheet lays out as nothing is as unseen as any: a script may show it as easily.
    hidden = hidden_by_rules(page, style_hides)
    by_sheet = {element: "veiled" if how == "gone" else how for element, how in hidden.items()}
    veiled = {element for element, how in by_sheet.items() if how == "veiled"}
    if sum(size_of(element) for element in veiled if veiled.isdisjoint(element.iterancestors())) > _MOST * total:
        by_sheet = {element: how for element, how in by_sheet.items() if element not in veiled}
    by_itself = ((element, how) for element in marked if (how := _unseen(element)))
    doomed = [(element, how) for element, how in (*by_itself, *by_sheet.items()) if element.tag not in {"html", "body"}]
    unseen = {element for element, _ in doomed}
    folded = folded_sections(page, unseen) if doomed else ()
    figures: dict[HtmlElement, frozenset[str]] = {}
    for element, how in doomed:
        size = size_of(element)
        if how == "unseen" and _is_sign_between_figures(element):
            continue
        if how == "covered" and element not in by_sheet and _is_figure_in_sight(element, unseen, figures):
            continue
        if element in folded:
            element.set(FOLDED, "")
            continue
        if how in {"veiled", "covered"} and size > _MOST * total:
            continue
        if how.isdigit() and size > _CHARS_PER_PIXEL * int(how):
            continue
        if how == "gone" and size > _OUTWEIGHS * (total - size) and is_shown_by_script(page, element):
            continue
        dropped += size
        remove(element)
    _drop_dialogues(page)
    return dropped


def _drop_dialogues(page: Page) -> None:
    """Take out what lies over the page, unless there is next to nothing below it."""
    for element in [dialog for dialog in page.root.iter("dialog") if dialog.get("open") is None]:
        remove(element)
    is_noted = any(
        element.get("role") in {"dialog", "alertdialog"} or element.get("aria-modal") == "true"
        for element in page.noted
    )
    over = _DIALOGUES(page.root) if is_noted or next(page.root.iter("dialog"), None) is not None else []
    if over and size_of(body_of(page.root)) - sum(map(size_of, over)) >= _SHOWN_CHARS:
        for element in over:
            remove(element)


def _settle_noscript(page: Page) -> None:
    """Drop what only readers without scripts see, unless it is the page: a shell that scripts fill, a script's text."""
    fallbacks = [element for element in page.root.iter("noscript") if element.getparent() is not None]
    inside = sum(map(size_of, fallbacks))
    whole = size_of(body_of(page.root))
    for element in fallbacks:
        size = size_of(element)
        is_page = whole - inside < _SHELL_SHARE * inside and size > _MOST * inside
        if not is_page and size >= _SHOWN_CHARS:  # or a template: one script holds all that it says, and sets it
            parts = [part.strip() for part in element.itertext() if not part.isspace()]
            is_page = any(all(map(script.__contains__, parts)) for script in map(unescape, page.scripts))
        if is_page:
            element.tag = "div"
        else:
            remove(element)


def _is_sign_between_figures(element: HtmlElement) -> bool:
    """Whether it says to those who hear the page what others see as a line or a place: "7/8", "2+3⁄4", "19.99".

    The whole part of a mixed number stands beside its fraction: what is added shows as a space.
    """
    sign = (element.text or "").strip()
    if sign not in _HEARD_SIGNS or len(element):
        return False
    before, parent = element.getprevious(), element.getparent()
    if before is None:
        left = (parent.text or "") if parent is not None else ""
    else:
        left = before.tail or "".join(before.itertext())
    after = element.getnext()
    right = element.tail or ("".join(after.itertext()) if after is not None else "")
    if not (left[-1:].isdigit() and right[:1].isdigit()):
        return False
    if sign == "+":
        element.text = " "
    return True


def _is_figure_in_sight(
    element: HtmlElement, unseen: Collection[HtmlElement], known: dict[HtmlElement, frozenset[str]]
) -> bool:
    """Whether screen readers alone pass over it, and its figures stand nowhere beside it.

    Shops set a price twice: in sight, and in words for those who hear the page, which are out of sight. Where both
    show (the words by a class nobody knows), the words are read. `known` are figures found so far, by what holds them.
    """
    if element.tag not in _PHRASES or element.get("role") or next(element.iterancestors(*_EXACT), None) is not None:
        return False
    if (style := element.get("style")) and style_hides(style):
        return False
    if _is_for_screen_readers(element) or size_of(element) > _PHRASE_CHARS:
        return False
    if next(element.iter(*_BLOCKS), None) is not None:
        return False
    said = "".join(element.itertext())
    own = frozenset(_FIGURE.findall(said))
    if len(_LETTERS.findall(said)) > _PHRASE_WORDS:
        return False
    around = element.getparent()
    for _ in range(_BESIDE_LEVELS):
        if not own or around is None or around.tag == "body":
            break
        if around not in known:
            known[around] = frozenset(_FIGURE.findall("".join(_seen_text(around, unseen))))
        if own <= known[around] or next(around.iter("math"), None) is not None:
            return False
        around = around.getparent()
    return bool(own)


def _seen_text(element: HtmlElement, unseen: Collection[HtmlElement]) -> Iterator[str]:
    """The pieces of text in an element but for those in `unseen`."""
    if element.text:
        yield element.text
    for child in element:
        if child not in unseen:
            yield from _seen_text(child, unseen)
        if child.tail:
            yield child.tail


def _unseen(element: HtmlElement) -> str:
    """How the element's own attributes hide it (see `style_hides`)."""
    if element.get("hidden") is not None and element.get("hidden", "").lower() != "until-found":
        return "gone"
    if element.get("aria-hidden", "").lower() == "true" and not _HOLDS_PAGE(element):
        return "covered"
    if _is_for_screen_readers(element):
        return "unseen"
    style = element.get("style") or ""
    return style_hides(style) or ("unseen" if _pale_on_default(element, style) else "")


def _is_for_screen_readers(element: HtmlElement) -> bool:
    names = element.get("class")
    return bool(names) and not _SCREEN_READER_CLASSES.isdisjoint(names.split())


@lru_cache(maxsize=2_048)
def style_hides(style: str) -> str:
    """How a style hides text: not laid out (`gone`), `veiled`, out of sight (`unseen`), or moved by so many pixels."""
    if not _MAY_HIDE.search(style):
        return ""
    flat = re.sub(r"/\*.*?\*/|\s*([:;,()])\s*|^\s+|\s+$", r"\1", style.lower())
    if _GONE.search(flat):
        return "gone"
    if _VEILED.search(flat):
        return "veiled"
    if _UNSEEN.search(flat) or (_NO_SIZE.search(flat) and _OVERFLOW.search(flat)):
        return "unseen"
    colour, background = _COLOUR.search(flat), _BACKGROUND.search(flat)
    if colour and background and _same(_rgb(colour.group(1)), _rgb(background.group(1))):
        return "unseen"
    return max(_MOVED.findall(flat), default="")


def _same(first: tuple[int, int, int] | None, second: tuple[int, int, int] | None) -> bool:
    return (
        first is not None
        and second is not None
        and max(abs(a - b) for a, b in zip(first, second, strict=True)) <= _NEAR
    )


def _rgb(value: str) -> tuple[int, int, int] | None:
    """Red, green, blue of a colour as written in CSS, or None for names and forms not read here."""
    value = value.strip().split(" ")[0] if not value.strip().startswith("rgb") else value.strip()
    match = _RGB.match(value)
    if match:
        return int(match.group(1)), int(match.group(2)), int(match.group(3))
    digits = _NAMED.get(value, value.removeprefix("#"))
    if len(digits) in {3, 4}:
        digits = "".join(char * 2 for char in digits[:3])
    try:
        return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    except ValueError:
        return None


def _pale_on_default(element: HtmlElement, style: str) -> bool:
    """White text where nothing around it could have set another background than the default white."""
    colour = _COLOUR.search(re.sub(r"\s+", "", style.lower()))
    if colour is None or not _same(_rgb(colour.group(1)), (255, 255, 255)):
        return False
    while element is not None:
        named = any(element.get(name) for name in ("class", "id", "bgcolor", "background"))
        if named or "background" in element.get("style", ""):
            return False
        element = element.getparent()
    return True
