"""The part of a passage that a result list shows."""

from pincite.ranking.terms import index_terms, query_terms
from pincite.text.sentences import sentences

SNIPPET_CHARS = 400


def snippet(text: str, question: str) -> str:
    """The run of whole sentences, at most 400 characters in one line, that holds most of the question's words."""
    wanted = set(query_terms(question))
    spans = sentences(text)
    held = [wanted.intersection(index_terms(text[span.start : span.end])) for span in spans]
    best, best_value = "", -1.0
    for first, span in enumerate(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= SNIPPET_CHARS:
            last += 1
        # Of equals the first wins: a run that starts earlier keeps more of what leads up to it.
        value = len(set[str]().union(*held[first : last + 1])) - 0.01 * first
        if value > best_value:
            best, best_value = text[span.start : spans[last].end], value
    flat = " ".join((best or text).split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    return flat[: SNIPPET_CHARS - 1].rsplit(" ", 1)[0] + "…"
