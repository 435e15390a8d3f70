"""Machine edits that make a true claim false, one kind each. Own word lists, independent of the product's."""

import random
import re
from collections.abc import Callable

KINDS = (
    "number changed",
    "unit or magnitude changed",
    "number swapped",
    "negation",
    "name replaced",
    "name swapped",
    "date moved",
    "comparison reversed",
    "quantifier strengthened",
)
_NUMBER = re.compile(
    r"(?<![\w.,/-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,.]\d)|(?<![\w.,/-])\d+(?:\.\d+)?(?![\w]|[.,/:-]\d)"
)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-2]\d)\b")
_MONTHS = "January February March April May June July August September October November December".split()
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w.-]*[a-z](?: [A-Z][\w-]*[a-z])*\b(?![’'](?!s\b))")
"""Only inside a sentence: at the start of one, of a line or of a quotation every word is capitalised."""
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_FOREIGN = (
    "Marvin Quillfeather", "Tessaly Broome", "Ostrava Holdings", "Ludmila Vantongeren", "Northvale", "Pemberwick",
    "Caldera Systems", "Ignatius Farrow", "Zubrowka", "Harlan Petrosyan", "Bellcastle", "Orinthia",
)  # fmt: skip
_UNITS = [
    ("million", "billion"), ("billion", "million"), ("thousand", "million"), ("hundred", "thousand"),
    ("km", "miles"), ("kilometers", "miles"), ("kilometres", "miles"), ("miles", "kilometers"), ("feet", "meters"),
    ("metres", "feet"), ("meters", "feet"), ("percent", "dollars"), ("%", " million"), ("kg", "pounds"),
    ("pounds", "kilograms"), ("minutes", "hours"), ("hours", "minutes"), ("hours", "days"), ("days", "weeks"),
    ("weeks", "months"), ("months", "years"), ("years", "months"), ("year", "month"), ("inches", "feet"),
    ("$", "€"), ("£", "$"), ("€", "£"), ("acres", "hectares"), ("mg", "g"), ("inch", "foot"), ("degrees", "percent"),
]  # fmt: skip
_REVERSALS = [
    ("more", "less"), ("less", "more"), ("before", "after"), ("after", "before"), ("higher", "lower"),
    ("lower", "higher"), ("increased", "decreased"), ("increase", "decrease"), ("increasing", "decreasing"),
    ("decreased", "increased"), ("decrease", "increase"), ("larger", "smaller"), ("largest", "smallest"),
    ("rose", "fell"), ("fell", "rose"), ("highest", "lowest"), ("over", "under"), ("above", "below"),
    ("below", "above"), ("older", "younger"), ("oldest", "youngest"), ("earlier", "later"), ("later", "earlier"),
    ("won", "lost"), ("lost", "won"), ("better", "worse"), ("best", "worst"), ("faster", "slower"),
    ("longer", "shorter"), ("longest", "shortest"), ("greater", "smaller"), ("reduce", "raise"), ("reduced", "raised"),
    ("northern", "southern"), ("southern", "northern"), ("north", "south"), ("south", "north"), ("east", "west"),
    ("bigger", "smaller"), ("most", "least"), ("fewer", "more"), ("improve", "worsen"), ("improved", "worsened"),
    ("raised", "cut"), ("raise", "cut"), ("beat", "lost to"), ("defeated", "lost to"), ("against", "for"),
]  # fmt: skip
_STRENGTHEN = [
    ("some", "all"), ("many", "all"), ("most", "all"), ("several", "all"), ("often", "always"), ("usually", "always"),
    ("sometimes", "always"), ("one of the", "the only"), ("generally", "always"), ("commonly", "always"),
    ("typically", "always"), ("mostly", "entirely"), ("mainly", "exclusively"), ("primarily", "exclusively"),
    ("partly", "entirely"), ("a few", "all"), ("few", "most"), ("nearly all", "all"), ("almost", "completely"),
    ("rarely", "never"), ("frequently", "always"), ("occasionally", "always"), ("various", "all"),
]  # fmt: skip


def edited(kind: str, claim: str, page: str, rng: random.Random) -> str | None:
    """The claim with one edit of this kind, or None when there is nothing to edit."""
    result = _EDITS[kind](claim, page, rng)
    return result if result and result != claim else None


def _replace(claim: str, match: re.Match[str], text: str) -> str:
    return claim[: match.start()] + text + claim[match.end() :]


def _like(number: str, value: float) -> str:
    decimals = len(number.partition(".")[2])
    return f"{value:,.{decimals}f}" if "," in number else f"{value:.{decimals}f}"


def _plain_numbers(claim: str) -> list[re.Match[str]]:
    return [m for m in _NUMBER.finditer(claim) if not _YEAR.fullmatch(m.group()) and not _in_date(claim, m)]


def _in_date(claim: str, match: re.Match[str]) -> bool:
    around = claim[max(0, match.start() - 12) : match.end() + 12]
    return any(month in around for month in _MONTHS)


def _number_changed(claim: str, page: str, rng: random.Random) -> str | None:
    found = _plain_numbers(claim)
    if not found:
        return None
    match = rng.choice(found)
    value = float(match.group().replace(",", ""))
    for _ in range(20):
        new = value * rng.choice([0.5, 0.8, 1.1, 1.3, 2.0, 3.0]) + rng.choice([-1, 1, 2])
        text = _like(match.group(), abs(new))
        if text != match.group() and text not in page:
            return _replace(claim, match, text)
    return None


def _number_swapped(claim: str, page: str, rng: random.Random) -> str | None:
    found = _plain_numbers(claim) or list(_YEAR.finditer(claim))
    if not found:
        return None
    match = rng.choice(found)
    year = bool(_YEAR.fullmatch(match.group()))
    pool = {m.group() for m in (_YEAR.finditer(page) if year else _NUMBER.finditer(page))}
    others = sorted(t for t in pool if t != match.group() and t not in claim and bool(_YEAR.fullmatch(t)) == year)
    return _replace(claim, match, rng.choice(others)) if others else None


def _unit(claim: str, page: str, rng: random.Random) -> str | None:
    options = []
    for old, new in _UNITS:
        pattern = (
            rf"(?<=\d){re.escape(old)}|(?<=\d ){re.escape(old)}\b|(?<=\d-){re.escape(old)}\b"
            if old != "%"
            else r"(?<=\d)%"
        )
        if old in "$£€":
            pattern = rf"{re.escape(old)}(?=\d)"
        if old in ("million", "billion", "thousand", "hundred"):
            pattern = rf"\b{old}\b"
        options += [_replace(claim, match, new) for match in re.finditer(pattern, claim)]
    return rng.choice(options) if options else None


def _negation(claim: str, page: str, rng: random.Random) -> str | None:
    removed = re.sub(r"\b(not|never) |n't\b|(?<=can)not", "", claim, count=1)
    if removed != claim:
        return removed
    match = re.search(
        r"\b(is|are|was|were|has|have|had|can|could|will|would|did|does|do|may|should|must)\b(?! not)", claim
    )
    if match:
        return claim[: match.end()] + " not" + claim[match.end() :]
    match = re.search(r"\b([a-z]{3,}ed)\b", claim)
    return claim[: match.start()] + "never " + claim[match.start() :] if match else None


def _name_replaced(claim: str, page: str, rng: random.Random) -> str | None:
    found = _names(claim, page)
    return _replace(claim, rng.choice(found), rng.choice(_FOREIGN)) if found else None


def _names(text: str, page: str) -> list[re.Match[str]]:
    """Names in the text: no date, and no word that the page also writes small (a heading's or a title's words)."""
    small = set(re.findall(r"\b[a-z][\w-]*", page))
    return [
        match for match in _NAME.finditer(text)
        if match.group().split()[0] not in (*_MONTHS, *_WEEKDAYS)
        and not any(word.lower() in small for word in match.group().split())
    ]  # fmt: skip


def _name_swapped(claim: str, page: str, rng: random.Random) -> str | None:
    found = _names(claim, page)
    lowered = claim.lower()
    pool = sorted(
        {m.group() for m in _names(page, page)
         if m.group().lower() not in lowered and len(m.group()) > 3
         and not any(part.lower() in lowered for part in m.group().split())}
    )  # fmt: skip
    if not found or not pool:
        return None
    match = rng.choice(found)
    alike = [name for name in pool if len(name.split()) == len(match.group().split())] or pool
    return _replace(claim, match, rng.choice(alike))


def _date(claim: str, page: str, rng: random.Random) -> str | None:
    options = []
    for match in _YEAR.finditer(claim):
        year = int(match.group()) + rng.choice([-10, -3, -2, -1, 1, 2, 3, 10])
        options.append(_replace(claim, match, str(year)))
    months = "|".join(_MONTHS)
    options.extend(
        _replace(claim, match, rng.choice([m for m in _MONTHS if m != match.group()]))
        for match in re.finditer(rf"\b({months})\b(?= \d)|(?<=\d )({months})\b", claim)
    )
    return rng.choice(options) if options else None


def _swap_words(pairs: list[tuple[str, str]]) -> Callable[[str, str, random.Random], str | None]:
    def edit(claim: str, page: str, rng: random.Random) -> str | None:
        options = []
        for old, new in pairs:
            for match in re.finditer(rf"(?<![\w-]){old}(?![\w-])", claim, re.IGNORECASE):
                text = new.capitalize() if match.group()[0].isupper() else new
                options.append(_replace(claim, match, text))
        return rng.choice(options) if options else None

    return edit


_EDITS: dict[str, Callable[[str, str, random.Random], str | None]] = {
    "number changed": _number_changed,
    "unit or magnitude changed": _unit,
    "number swapped": _number_swapped,
    "negation": _negation,
    "name replaced": _name_replaced,
    "name swapped": _name_swapped,
    "date moved": _date,
    "comparison reversed": _swap_words(_REVERSALS),
    "quantifier strengthened": _swap_words(_STRENGTHEN),
}
