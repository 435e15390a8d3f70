"""What a page says of its own parts: products, questions and answers, posts, comments, reviews, entries of lists.

Four vocabularies say the same in JSON-LD, microdata, RDFa and Open Graph: all are read into one tree of properties. A
thread or a list without any is seen by its layout (`repeated`).

Source: schema.org; HTML Standard, microdata; RDFa Lite 1.1; Open Graph protocol (`product:price:amount`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from html import unescape

from lxml.html import HtmlElement

from pincite.domain.items import Item, ItemKind
from pincite.domain.page import BLOCK_SEPARATOR, Block
from pincite.fetch.extractors.blocks import Found
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.features import is_made_of_records
from pincite.fetch.extractors.inline import absolute
from pincite.fetch.extractors.layout import bare
from pincite.fetch.extractors.metadata import parse_date
from pincite.fetch.extractors.repeated import MARKUP, Draft, entries, integer, line_of, posts

# Of a thread or a list, which pages show in parts themselves.
_MAX_ITEMS = 200
# Elements with properties: a long thread has ten a post.
_MAX_MARKED = 5_000
# Comments on comments.
_MAX_DEPTH = 8
# A comment of two hundred words is a long one, and a page has `_MAX_ITEMS` of them.
_MAX_REMARK_CHARS = 2_000
# Compared with the page: more than a post has.
_MAX_TEXT_CHARS = 20_000
_KINDS = {
    **dict.fromkeys(("product", "productgroup", "individualproduct", "productmodel"), ItemKind.PRODUCT),
    "question": ItemKind.QUESTION,
    "answer": ItemKind.ANSWER,
    **dict.fromkeys(("discussionforumposting", "socialmediaposting"), ItemKind.POST),
    **dict.fromkeys(("comment", "usercomments"), ItemKind.COMMENT),
    **dict.fromkeys(("review", "userreview"), ItemKind.REVIEW),
    "listitem": ItemKind.ENTRY,
}
_INSIDE = ("acceptedAnswer", "suggestedAnswer", "comment", "review", "reviews", "hasVariant")
_HOLDERS = ("mainEntity", "mainEntityOfPage", "@graph", "hasPart", "itemListElement", "item")
_FACTS = ("sku", "mpn", "gtin", "gtin13", "gtin14", "model", "color", "material", "category")
_OF_OFFERS = ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "itemCondition")
_OF_RATINGS = ("ratingValue", "bestRating", "reviewCount", "ratingCount")
_FORUM_HOST = re.compile(r"https?://(?:forums?|community|boards?|discuss|discussions?|answers?)\d*\.")
_PRICES = frozenset({"price", "lowPrice", "highPrice"})
_PRICE = re.compile(r"\d{1,9}(?:\.\d{1,4})?")
_TELLING_PRICE = 100
_WORD = re.compile(r"\w+")
# Words in a row that a post shares with a block only if it is its text.
_RUN = 4
# Of the runs of a post: quotes and signatures inside it are the rest. Chosen, not measured.
_MOSTLY = 0.8
_VOCABULARY = frozenset({"itemprop", "itemscope", "property", "typeof"})


@dataclass(slots=True)
class _Node:
    """An item as a vocabulary gives it: its types, its properties, and the element where it stands in the page."""

    types: frozenset[str]
    properties: dict[str, list["str | _Node"]] = field(default_factory=lambda: defaultdict(list))
    element: HtmlElement | None = None

    def text(self, *names: str) -> str:
        """The first value of these properties that is text; of an item, its name."""
        for name in names:
            for value in self.properties.get(name, ()):
                said = value.text("name") if isinstance(value, _Node) else value
                if said.strip():
                    return said
        return ""

    def nodes(self, *names: str) -> Iterator["_Node"]:
        """The items among the values of these properties."""
        return (value for name in names for value in self.properties.get(name, ()) if isinstance(value, _Node))


class PageItems:
    """What the page's structured data says, taken before anything is removed from the tree."""

    def __init__(self, page: Page, linked: Iterable[Mapping[str, object]], base_url: str) -> None:
        self._base_url = base_url
        self._drafts: list[Draft] = []
        self._root = page.root
        self._known: frozenset[ItemKind] = frozenset()  # kinds that an earlier vocabulary has told of
        self._signed: dict[tuple[str, datetime], int] = {}
        self._linked = [_linked_node(value) for value in linked]
        for source, nodes in (("json-ld", self._linked), *_marked_nodes(page)):
            for node in nodes:
                self._take(node, source, None, 0)
            self._known = frozenset(draft.item.kind for draft in self._drafts)
        if not any(draft.item.kind is ItemKind.PRODUCT for draft in self._drafts):
            self._drafts += _open_graph(page.root)

    def stated(self) -> str:
        """What the structured data says the page's own text is: articles, products and their prices, posts."""
        said = [MARKUP.sub("\n", text) for node in self._linked if (text := node.text("articleBody"))]
        for draft in (draft for draft in self._drafts if draft.item.kind in _OWN):
            said += [draft.item.name, draft.text]
            for name, value in draft.item.facts:
                if name in _PRICES and _PRICE.fullmatch(value):
                    amount = float(value)
                    said += [f"{amount:.2f}", f"{amount:,.2f}"]  # as pages write it
                    if amount >= _TELLING_PRICE and amount.is_integer():  # small whole ones are numbers of anything
                        said += [f"{amount:.0f}", f"{amount:,.0f}"]
        return "\n".join(said)

    def _take(self, node: _Node, source: str, parent: int | None, depth: int, *, accepted: bool = False) -> None:
        if depth > _MAX_DEPTH or len(self._drafts) >= _MAX_ITEMS:
            return
        kind = _kind_of(node)
        if kind is ItemKind.ENTRY and (inner := next(node.nodes("item"), None)) is not None and _kind_of(inner):
            self._take(inner, source, parent, depth + 1)
            return
        here = parent
        if kind is not None:
            item = replace(self._item(node, kind, source), parent=parent, accepted=accepted)
            own = node.text("text", "articleBody", "reviewBody", "commentText", "description")
            place = self._place(Draft(item, node.element, MARKUP.sub("\n", own)))
            if place is None:
                return
            here = place
        for name in _INSIDE if kind is not None else ():
            for inner in node.nodes(name):
                self._take(inner, source, here, depth + 1, accepted=name == "acceptedAnswer")
        for name in _HOLDERS:
            for inner in node.nodes(name):
                if name != "itemListElement" or "breadcrumblist" not in node.types:
                    self._take(inner, source, here, depth + 1)

    def _place(self, draft: Draft) -> int | None:
        """Where the item stands among the others; None for what says nothing, or the same again in other words."""
        item = draft.item
        if not (item.name or item.author or draft.text):
            return None
        moment = item.published_at and item.published_at.replace(second=0, microsecond=0)
        signed = (item.author.casefold(), moment) if item.author and moment else None
        place = self._signed.get(signed) if signed is not None else None
        if place is not None and self._drafts[place].item.source != item.source:
            known = self._drafts[place]
            accepted, votes = known.item.accepted or item.accepted, known.item.votes
            merged = replace(known.item, accepted=accepted, votes=item.votes if votes is None else votes)
            self._drafts[place] = Draft(merged, known.element if draft.element is None else draft.element, known.text)
            return place
        if signed is None and item.kind in self._known:
            return None
        if signed is not None:
            self._signed.setdefault(signed, len(self._drafts))
        self._drafts.append(draft)
        return len(self._drafts) - 1

    def _item(self, node: _Node, kind: ItemKind, source: str) -> Item:
        address = node.text("url", "@id")
        return Item(
            kind,
            source,
            name=line_of(node.text("headline", "name", "title")),
            author=line_of(node.text("author", "creator")) if kind is not ItemKind.PRODUCT else "",
            published_at=parse_date(node.text("datePublished", "dateCreated", "uploadDate", "commentTime")),
            votes=integer(node.text("upvoteCount")) if "upvoteCount" in node.properties else _likes(node),
            url=absolute(self._base_url, address.strip()) if address else "",
            facts=tuple(_facts(node)) if kind in {ItemKind.PRODUCT, ItemKind.REVIEW} else (),
        )

    def placed(
        self, found: Sequence[Found], blocks: Sequence[Block], types: frozenset[str], remarks: Sequence[Found] = ()
    ) -> tuple[Item, ...]:
        """The items with their places in the text that these blocks make.

        Args:
            found: what was kept of the page.
            blocks: the document's blocks. Where prose in fixed width became several, no item has a place.
            types: what the page says it is.
            remarks: comments of readers that were left out: such an item has its text as a fact instead of a place.
        """
        drafts = self._drafts
        if not any(draft.item.kind in _THREADS for draft in drafts):
            is_forum = "says:forum" in types or _FORUM_HOST.match(self._base_url) is not None
            drafts = [*drafts, *posts([*found, *remarks], self._root, is_forum=is_forum)]
        if not drafts:
            drafts = entries(found, is_list=is_made_of_records(types))
        if not drafts:
            return ()
        spans = _spans(drafts, found) if len(found) == len(blocks) else {}
        starts = [0]
        for block in blocks:
            starts.append(starts[-1] + len(block.text) + len(BLOCK_SEPARATOR))
        told = any(draft.item.facts for draft in drafts)
        words = bare(BLOCK_SEPARATOR.join(block.text for block in blocks)) if told else ""
        items: list[Item] = []
        for index, draft in enumerate(drafts[:_MAX_ITEMS]):
            unseen = tuple(name for name, value in draft.item.facts if bare(value) not in words)
            item = replace(draft.item, unseen=unseen)
            if item.kind is ItemKind.COMMENT and index not in spans:  # it was left out of the text
                inside = (
                    one.block.text for one in remarks if draft.element in (one.holder, *one.holder.iterancestors())
                )
                if said := " ".join((draft.text or " ".join(inside)).split())[:_MAX_REMARK_CHARS]:
                    item = replace(item, facts=(("text", said),), unseen=("text",))
            if (span := spans.get(index)) is not None:
                item = replace(item, start=starts[span[0]], end=starts[span[1]] + len(blocks[span[1]].text))
            items.append(item)
        return tuple(items)


_THREADS = frozenset({ItemKind.QUESTION, ItemKind.ANSWER, ItemKind.POST, ItemKind.COMMENT})
_OWN = _THREADS | {ItemKind.PRODUCT}


def _kind_of(node: _Node) -> ItemKind | None:
    return next((_KINDS[name] for name in node.types if name in _KINDS), None)


def _linked_node(value: Mapping[str, object], depth: int = 0) -> _Node:
    """An object of JSON-LD."""
    kinds = value.get("@type")
    node = _Node(frozenset(_last(str(kind)) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind))
    for name, given in value.items():
        for part in (given if isinstance(given, list) else [given])[:_MAX_ITEMS]:
            if isinstance(part, Mapping):
                if depth < _MAX_DEPTH and name not in {"mainEntityOfPage", "@graph", "hasPart", "mainEntity"}:
                    node.properties[str(name)].append(_linked_node(part, depth + 1))
            elif isinstance(part, str | int | float) and not isinstance(part, bool):
                node.properties[str(name)].append(unescape(str(part)[:_MAX_TEXT_CHARS]))
    return node


def _marked_nodes(page: Page) -> Iterator[tuple[str, list[_Node]]]:
    """The outermost items of microdata and of RDFa."""
    if "itemscope" not in page.source and "typeof" not in page.source:
        return
    marked = [element for element in page.noted if not _VOCABULARY.isdisjoint(element.keys())][:_MAX_MARKED]
    for source, scope, name in (("microdata", "itemscope", "itemprop"), ("rdfa", "typeof", "property")):
        nodes: dict[HtmlElement, _Node] = {}
        outer: list[_Node] = []
        for element in marked:
            named = element.get(name)
            is_item = element.get(scope) is not None
            if not is_item and not named:
                continue
            owner = next((nodes[above] for above in element.iterancestors() if above in nodes), None)
            node = None
            if is_item:
                types = element.get("itemtype" if scope == "itemscope" else "typeof") or ""
                node = nodes[element] = _Node(frozenset(map(_last, types.split())), element=element)
            if named and owner is not None:
                value = _value(element) if node is None else node
                for one in named.split():
                    owner.properties[one.rpartition(":")[2]].append(value)
            elif node is not None and owner is not None and owner.types & {"qapage", "itemlist", "webpage"}:
                owner.properties["mainEntity"].append(node)
            elif node is not None:
                outer.append(node)
        yield source, outer


def _value(element: HtmlElement) -> str:
    """The value of a property, by the element that has it."""
    for name in ("content", "datetime"):
        if (given := element.get(name)) is not None:
            return str(given)
    if element.tag in {"a", "link", "img"} and (given := element.get("href") or element.get("src")):
        text = " ".join(element.text_content().split())
        name = element.get("itemprop") or element.get("property") or ""
        return text if text and name.endswith("name") else str(given)
    return str(element.text_content())[:_MAX_TEXT_CHARS]


def _last(name: str) -> str:
    return re.split(r"[/:#]", name)[-1].lower()


def _likes(node: _Node) -> int | None:
    """How many liked it.

    Source: schema.org, InteractionCounter with a LikeAction.
    """
    for counter in node.nodes("interactionStatistic"):
        kind = counter.text("interactionType") or "".join(
            name for inner in counter.nodes("interactionType") for name in inner.types
        )
        if "like" in kind.lower() or "vote" in kind.lower():
            return integer(counter.text("userInteractionCount"))
    return None


def _facts(node: _Node) -> Iterator[tuple[str, str]]:
    """What is said of a product or a review: its offers, its maker, its numbers, its ratings."""
    seen: set[str] = set()
    parts: list[tuple[_Node, tuple[str, ...]]] = [(node, (*_FACTS, "brand", "manufacturer"))]
    for offer in node.nodes("offers"):
        parts += [(part, _OF_OFFERS) for part in (offer, *offer.nodes("offers", "priceSpecification"))]
    parts += [(rating, _OF_RATINGS) for rating in node.nodes("aggregateRating", "reviewRating")]
    for part, names in parts:
        for name in names:
            value = part.text(name)
            if name in {"availability", "itemCondition"}:
                value = re.split(r"[/#]", value)[-1]
            if name not in seen and (line := line_of(value)):
                seen.add(name)
                yield name, line


def _open_graph(root: HtmlElement) -> list[Draft]:
    """The product that the page's social tags name."""
    metas = {
        name: content.strip()
        for meta in root.iter("meta")
        if (name := meta.get("property") or "").startswith(("og:", "product:")) and (content := meta.get("content"))
    }
    price = metas.get("product:price:amount") or metas.get("og:price:amount", "")
    if not price and not metas.get("og:type", "").startswith(("product", "og:product")):
        return []
    currency = metas.get("product:price:currency") or metas.get("og:price:currency", "")
    told = (
        ("price", price),
        ("priceCurrency", currency),
        ("availability", metas.get("product:availability") or metas.get("og:availability", "")),
        ("brand", metas.get("product:brand", "")),
    )
    facts = tuple((name, line_of(value)) for name, value in told if value)
    name = line_of(metas.get("og:title", ""))
    return [Draft(Item(ItemKind.PRODUCT, "open-graph", name=name, facts=facts), None)] if name else []


def _spans(drafts: Sequence[Draft], found: Sequence[Found]) -> dict[int, tuple[int, int]]:
    """First and last block of each item that has any."""
    owners = {draft.element: index for index, draft in enumerate(drafts) if draft.element is not None}
    runs: dict[tuple[str, ...], int] = {}
    for index, draft in enumerate(drafts):
        if draft.element is None:
            for run in _runs(draft.text):
                runs.setdefault(run, index)
    spans: dict[int, tuple[int, int]] = {}
    for place, item in enumerate(found):
        holders = [owners[above] for above in (item.holder, *item.holder.iterancestors()) if above in owners]
        if not holders and runs:
            own = list(_runs(item.block.text))
            known = Counter(runs[run] for run in own if run in runs)
            holders = [index for index, count in known.most_common(1) if count >= _MOSTLY * len(own)]
        for index in holders:
            low, _ = spans.get(index, (place, place))
            spans[index] = (low, place)
    return spans


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return zip(*(words[offset:] for offset in range(_RUN)), strict=False) if len(words) >= _RUN else iter(())
