"""What answers for a side of a comparison: first the entry of the option, setting, function or term that it names."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind
from pincite.ranking.ranker import RankedPassage, Ranking
from pincite.ranking.scores import length_of, likelihood
from pincite.text.tokens import index_terms, is_identifier, query_terms

# What may be left out of a term (`--[no-]edit`), and what it is called with (`sorted(iterable)`, `-C <path>`).
_LEFT_OUT: Final = re.compile(r"\[[^\[\]]*\]")
_ARGUMENTS: Final = re.compile(r"\([^()]+\)|<[^<>]*>|\{[^{}]*\}")
# Of what is called the brackets stay.
_OF_CALL: Final = re.compile(r"(?<=[^\W_])\([^()]+\)")
_CALLED: Final = re.compile(r"([\w.:]+)\(\)")
_REST: Final = re.compile(r"[(=<{]|:\s|\s#").split
_SEVERAL: Final = re.compile(r",\s|\n|\s[/|]\s").split
# Of what a side says beside a name of code ("git reset --soft"), by rarity, so much stands in or above the entry:
# options of one name belong to many commands. Beside a word ("differential backup") all of it does.
_COVERED: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Entry:
    """A passage cut down to one term with what explains it.

    `rank`: whether the side says the whole name, whether that is one of code, how many of its words are in the name,
    and how much of the rest stands in or above the entry.
    """

    passage: RankedPassage
    whole: RankedPassage
    rank: tuple[bool, bool, int, float]


def of_side(side: str, own: Ranking, whole: Ranking) -> tuple[Ranking, bool]:
    """The passages for a side of a comparison, ranked for it and for the whole question, and whether one defines it.

    First the entry that the side names: it says what the side is, though it does not speak of the other one. Then
    passages that answer the whole question too, each as likely as the less likely of the two.
    """
    both = _both(own, whole)
    found = list(_entries(side, own))
    best = max((entry.rank for entry in found), default=None)
    defining = [entry for entry in found if entry.rank == best]
    taken = {_place(entry.whole) for entry in defining}
    others = [passage for passage in both.passages if _place(passage) not in taken]
    if not defining:
        return both, False
    about = {_place(passage): passage.likelihood for passage in whole.passages}
    entries = [
        replace(entry.passage, likelihood=max(entry.passage.likelihood, about.get(_place(entry.whole), 0.0)))
        for entry in defining
    ]
    first, *more = sorted(entries, key=lambda passage: -passage.likelihood)
    most = max(passage.likelihood for passage in (first, *others))
    rest = sorted((*more, *others), key=lambda passage: -passage.likelihood)
    return replace(both, passages=(replace(first, likelihood=most), *rest)), True


def _both(own: Ranking, whole: Ranking) -> Ranking:
    """The passages about a side that answer the whole question too: each as likely as the less likely of the two."""
    about = {_place(passage): passage for passage in own.passages}
    names = set(own.terms)
    found = []
    for passage in whole.passages:
        side = about.get(_place(passage))
        if side is not None and names.intersection(index_terms(f"{passage.context} {passage.text}")):
            found.append(replace(passage, likelihood=min(side.likelihood, passage.likelihood)))
    ordered = sorted(found, key=lambda passage: -passage.likelihood)
    return replace(whole, passages=tuple(ordered), terms=own.terms)


def _place(passage: RankedPassage) -> tuple[str, int]:
    return passage.source.url, passage.draft.start


def _entries(side: str, ranking: Ranking) -> Iterator[_Entry]:
    """The entries in the passages whose own term the side names, as far as they are about the rest of the side."""
    asked = query_terms(side)
    for passage in ranking.passages if asked else ():
        if not passage.draft.label:
            continue
        above = {*index_terms(passage.source.url), *index_terms(passage.context)}
        for term, cut in _cut(passage):
            inside = above.union(index_terms(cut.text))
            for name, is_code in names_of(term):
                if not _says(side, name, is_code=is_code):
                    continue
                own = set(index_terms(name))
                rest = [word for word in asked if word not in own]
                total = sum(map(ranking.rarity.weight, rest))
                there = sum(ranking.rarity.weight(word) for word in rest if word in inside)
                covered = there / total if total else 1.0
                if covered >= (_COVERED if is_code else 1.0):
                    yield _Entry(cut, passage, (own <= set(asked), is_code, len(own.intersection(asked)), covered))


def _cut(passage: RankedPassage) -> Iterator[tuple[str, RankedPassage]]:
    """Each term of a passage with what explains it, up to the next term; terms one after the other share that."""
    document, draft = passage.source.document, passage.draft
    first, last = document.block_at(draft.start), document.block_at(max(draft.end - 1, 0))
    terms: list[int] = []
    above = draft.label.rpartition(" > ")[0]
    for index in range(first, last + 1):
        if document.blocks[index].kind is BlockKind.TERM:
            terms.append(index)
        elif terms and (index == last or document.blocks[index + 1].kind is BlockKind.TERM):
            text = "\n".join(document.blocks[at].text for at in terms)
            label = " > ".join(filter(None, (above, " ".join(text.split()))))
            end = min(document.starts[index] + len(document.blocks[index].text), draft.end)
            cut = replace(passage, draft=replace(draft, start=document.starts[terms[0]], end=end, label=label))
            # The passage may be as long as the entry is short: likelihood follows what is printed.
            features = replace(passage.features, length=length_of(document.text[document.starts[terms[-1] + 1] : end]))
            yield text, replace(cut, features=features, likelihood=likelihood(features, passage.model))
            terms = []


def names_of(term: str) -> tuple[tuple[str, bool], ...]:
    """What a term is called by, and whether that is a name of code: without arguments, types, what may be left out."""
    plain, before = term, ""
    while before != plain:
        before, plain = plain, _ARGUMENTS.sub("", _OF_CALL.sub("()", _LEFT_OUT.sub("", plain)))
    found = []
    for piece in _SEVERAL(plain):
        if called := _CALLED.search(piece):
            found.append((called.group(1), True))
            continue
        name = _REST(piece)[0].strip(" :¶#`\"'")
        code = next((word for word in name.split() if word.startswith("-") or "." in word or is_identifier(word)), "")
        if code or name:
            found.append((code or name, bool(code)))
    return tuple(dict.fromkeys(found))


def _says(side: str, name: str, *, is_code: bool) -> bool:
    """Whether a side has a name: of code as written, also behind or without what it belongs to; else its words."""
    if not is_code:
        own = index_terms(name)
        return bool(own) and set(own) <= set(index_terms(side))
    tail = name if name.startswith("-") else re.split(r"\.|::", name)[-1]
    return bool(tail) and re.search(rf"(?<![\w-]){re.escape(tail)}(?![\w-]|\.\w)", side) is not None
