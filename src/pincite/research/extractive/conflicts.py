"""Claims that exclude each other, as typed conflicts: other figures, another version of a page, a denial (judged)."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Conflict, ConflictSide, ReadPage
from pincite.domain.report import ConflictKind
from pincite.research.extractive.versions import Versions, independent_sources, versions_of
from pincite.text.tokens import index_terms as key_terms

_SAME_WORDS, _CONTAINED_WORDS = 0.6, 0.85
# Of the words of the shorter claim: who denies a thing names it.
_DENIED_WORDS = 0.6
# Versions of a page word things anew: less is asked for than of a denial.
_VERSION_WORDS = 0.5
# The beginning of a block, long enough for the name and number of a caption.
_LABEL_CHARS = 40
# Shorter claims share their words by chance.
_LEAST_TERMS = 4
# Each pair costs a question to the judge, and a reader's trust when it is none.
_MOST = 6
_FIGURE = re.compile(r"(?<![\w.])[-+]?\d[\d.,]*\d|(?<![\w.])\d")
# "Table 69.1", "Section 9.17": a name with its number, which is no value where the page has a caption or heading of it.
_LABEL = re.compile(r"\b([^\W\d_]+ )(\d+(?:\.\d+)*)")
# "4. You may not copy it": the number of a section or item, which states nothing.
_NUMBERING = re.compile(r"\s*[(\[]?\d{1,3}(?:\.\d{1,3})*[.)\]]\s+(?=[^\W\d])")
_UNIT = re.compile(r"(?:\s?%|\s?[A-Za-z°µ]{1,12})?")


@dataclass(frozen=True, slots=True)
class _Read:
    """A claim with its terms taken apart: words, and figures."""

    item: VerifiedClaim
    words: frozenset[str]
    figures: frozenset[str]

    @property
    def urls(self) -> frozenset[str]:
        return frozenset(evidence.url for evidence in self.item.claim.evidence)

    def shared(self, other: "_Read") -> float:
        return len(self.words & other.words) / (len(self.words | other.words) or 1)

    def worded_like(self, other: "_Read") -> bool:
        """Whether the words beside the figures are the same, near enough for other figures to exclude each other."""
        contained = len(self.words & other.words) / (min(len(self.words), len(other.words)) or 1)
        return self.shared(other) >= _SAME_WORDS and contained >= _CONTAINED_WORDS


def conflicts_between(checked: Sequence[VerifiedClaim], pages: Mapping[str, ReadPage]) -> list[Conflict]:
    """The conflicts between claims that passed, those of one sub-question only, at most six."""
    versions = versions_of(tuple(pages.values()))
    # Listings share options and differ in their version: they state nothing that could exclude another.
    read = [_read(item, pages) for item in checked if item.printable and "\n" not in item.claim.text]
    grouped = _figure_groups(read, versions)
    found = [_between_figures(group, pages) for group in grouped]
    for one, other in itertools.combinations(read, 2):
        if one.item.claim.sub_question == other.item.claim.sub_question and not one.urls & other.urls:
            pair = _between_versions(one, other, versions)
            found += [pair] if pair else []
    return found[:_MOST]


def _read(item: VerifiedClaim, pages: Mapping[str, ReadPage]) -> _Read:
    terms = key_terms(_NUMBERING.sub("", item.claim.standing, count=1))
    figures = frozenset(term for term in terms if any(character.isdigit() for character in term))
    return _Read(item, frozenset(terms) - figures, figures - _labels(item, pages))


def _labels(item: VerifiedClaim, pages: Mapping[str, ReadPage]) -> frozenset[str]:
    """The figures of a claim that number a table or section of its own page: they point there and state nothing."""
    labels = {match.group(): match[2] for match in _LABEL.finditer(" ".join(item.claim.standing.split()))}
    read = [pages[evidence.url].document for evidence in item.claim.evidence if evidence.url in pages] if labels else []
    begins = {" ".join(block.text[:_LABEL_CHARS].split()) for document in read for block in document.blocks}
    # A caption or heading of that name, and none with a longer number.
    starts = {number: re.compile(rf"{re.escape(label)}(?!\.?\d)") for label, number in labels.items()}
    there = (number for number, start in starts.items() if any(map(start.match, begins)))
    return frozenset(term for number in there for term in key_terms(number))


def _figure_groups(read: Sequence[_Read], versions: Versions) -> list[list[_Read]]:
    """Claims with the same words, of several pages, where the figures differ."""
    groups: list[list[_Read]] = []
    for one in read:
        if not one.figures or len(one.words) < _LEAST_TERMS:
            continue
        home = next((group for group in groups if _belongs(one, group, versions)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    # Each has a figure that the other lacks: "512 MiB" and "512m (512 MiB)" say the same.
    pairs = [itertools.combinations([one.figures for one in group], 2) for group in groups]
    return [group for group, both in zip(groups, pairs, strict=True) if any(a - b and b - a for a, b in both)]


def _belongs(one: _Read, group: Sequence[_Read], versions: Versions) -> bool:
    first = group[0]
    if one.item.claim.sub_question != first.item.claim.sub_question:
        return False
    if not one.worded_like(first):
        return False
    if any(versions.siblings(a, b) for other in group for a in one.urls for b in other.urls):
        return False
    return all(one.figures == other.figures or not one.urls & other.urls for other in group)


def _between_figures(group: Sequence[_Read], pages: Mapping[str, ReadPage]) -> Conflict:
    """One side for each figure; the side with most independent sources first."""
    by_figures: dict[frozenset[str], list[_Read]] = {}
    for one in group:
        by_figures.setdefault(one.figures, []).append(one)
    common = frozenset.intersection(*by_figures)
    sides = []
    for members in by_figures.values():
        count = independent_sources([one.item.claim for one in members], pages)
        sides.append((_side(members[0].item, pages, count), _figures_of(members[0], common)))
    sides.sort(key=lambda pair: -pair[0].independent_sources)
    return Conflict(tuple(side for side, _ in sides), kind=ConflictKind.FIGURES, wording=_figures_wording(sides))


def _figures_of(one: _Read, common: frozenset[str]) -> str:
    """The figures of a claim that the other sides don't have, as written, each with its unit."""
    text = one.item.claim.evidence[-1].standing
    found = []
    for match in _FIGURE.finditer(text):
        if not set(key_terms(match.group())) <= common:
            unit = _UNIT.match(text, match.end())
            found.append(match.group().rstrip(".,") + (unit.group() if unit else ""))
    return " and ".join(dict.fromkeys(found))


def _figures_wording(sides: Sequence[tuple[ConflictSide, str]]) -> str:
    """Counts and figures: "2 independent sources say 398 MW, 1 says 412 MW"; empty when a figure is not in digits."""
    if not all(figures for _, figures in sides):
        return ""
    pieces = []
    for number, (side, figures) in enumerate(sides):
        count = side.independent_sources
        noun = f" independent source{'s' * (count != 1)}" if number == 0 else ""
        pieces.append(f"{count}{noun} say{'s' * (count == 1)} {figures}")
    return ", ".join(pieces)


def _between_versions(one: _Read, other: _Read, versions: Versions) -> Conflict | None:
    """What a page says in one version and its counterpart in another: which version says what."""
    if one.item.claim.text == other.item.claim.text or one.shared(other) < _VERSION_WORDS:
        return None
    first, second = one.item.claim.evidence[-1].url, other.item.claim.evidence[-1].url
    if not versions.siblings(first, second):
        return None
    named = [(versions.label(read.item.claim.evidence[-1].url), read) for read in (one, other)]
    # The newer version first; names without a number ("latest") before all numbers.
    named.sort(key=lambda pair: [*map(float, re.findall(r"\d+", pair[0]))] or [math.inf], reverse=True)
    labels = [label for label, _ in named]
    figures = [_figures_of(read, one.figures & other.figures) for _, read in named]
    wording = f"{labels[0]} says {figures[0]}, {labels[1].lower()} says {figures[1]}" if all(figures) else ""
    sides = [
        ConflictSide(
            f"{label}: {read.item.claim.text}", read.item.claim.claim_id, max(read.item.independent_sources, 1)
        )
        for label, read in named
    ]
    return Conflict(tuple(sides), kind=ConflictKind.VERSIONS, wording=wording or "The versions differ")


def denial_candidates(checked: Sequence[VerifiedClaim]) -> list[tuple[VerifiedClaim, VerifiedClaim]]:
    """Claims of different pages with much the same words and figures, where a judge may find that one denies the other.

    The pairs with most words in common first, a few of them.
    """
    read = [_read(item, {}) for item in checked if item.printable]
    pairs = [
        (one.shared(other), one.item, other.item)
        for one, other in itertools.combinations(read, 2)
        if one.item.claim.sub_question == other.item.claim.sub_question
        and not one.urls & other.urls
        and one.figures == other.figures
        and one.item.claim.text != other.item.claim.text
        and len(one.words) >= _LEAST_TERMS
        and one.shared(other) >= _DENIED_WORDS
    ]
    return [(one, other) for _, one, other in sorted(pairs, key=lambda pair: -pair[0])[:_MOST]]


def denial(one: VerifiedClaim, other: VerifiedClaim, pages: Mapping[str, ReadPage]) -> Conflict:
    """Two claims one of which denies the other."""
    sides = tuple(_side(item, pages, max(item.independent_sources, 1)) for item in (one, other))
    return Conflict(sides, kind=ConflictKind.DENIAL, wording="One source denies what another says")


def _side(item: VerifiedClaim, pages: Mapping[str, ReadPage], count: int) -> ConflictSide:
    """One side, with the title of its page, so that a reader sees who says what."""
    title = pages[item.claim.evidence[0].url].document.title.strip()
    statement = f"{title}: {item.claim.text}" if title else item.claim.text
    return ConflictSide(statement, item.claim.claim_id, max(count, 1))
