"""What a thread says of itself in microdata: which elements hold the words of its posts, which remarks below them."""

from collections.abc import Iterable

from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import Page

# Source: schema.org, QAPage and DiscussionForumPosting: the comments of a posting are its replies, those of a question
# or an answer are remarks on it.
_ASKED = frozenset({"question", "answer"})
_POSTS = _ASKED | {"discussionforumposting", "socialmediaposting"}
_TEXTS = frozenset({"text", "articlebody"})
# Previews of links, bars, forms inside a post: they may be of it or not.
_BESIDE = frozenset({"aside", "nav", "footer", "form"})


def thread_parts(page: Page, *, is_forum: bool) -> tuple[frozenset[HtmlElement], frozenset[HtmlElement]]:
    """All elements inside the words of posts but for previews of links, and inside remarks on questions and answers."""
    if "itemscope" not in page.source:
        return frozenset(), frozenset()
    noted = page.still_noted()
    kinds = {element: _kind(element) for element in noted if element.get("itemscope") is not None}
    posts, remarks = _POSTS, frozenset[str]()
    if _ASKED & set(kinds.values()):
        remarks = frozenset({"comment"})
    elif is_forum or _POSTS & set(kinds.values()):
        posts = _POSTS | {"comment"}
    said = (
        element
        for element in noted
        if (element.get("itemprop") or "").lower() in _TEXTS
        and kinds.get(next((above for above in element.iterancestors() if above in kinds), None)) in posts
    )
    words = _inside(said)
    shown = _inside(element for element in words if element.tag in _BESIDE)
    return words - shown, _inside(element for element, kind in kinds.items() if kind in remarks)


def _kind(element: HtmlElement) -> str:
    """The last part of the address of its type."""
    return (element.get("itemtype") or "").rstrip("/").rpartition("/")[2].lower()


def _inside(holders: Iterable[HtmlElement]) -> frozenset[HtmlElement]:
    """The holders and all that they hold; one inside another is looked through once."""
    inside: set[HtmlElement] = set()
    for holder in holders:
        if holder not in inside:
            inside.update(holder.iter())
    return frozenset(inside)
