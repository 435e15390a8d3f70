"""The part of a passage that a result list shows."""

from pincite.ranking.terms import index_terms, query_terms
from pincite.text.sentences import Span, sentences

# As engines of the web give, so that local and other results weigh the same.
SNIPPET_CHARS = 400
# A term or a table's header before the text; a longer one would leave no room for it.
_LEAD_CHARS = 120


def snippet(text: str, question: str, label: str = "") -> str:
    """The run of whole sentences, at most 400 characters in one line, that holds most of the question's words.

    The term that the run stands under is put in front, and so is the header of a table; `label` has all that the text
    has. "The default is three" says nothing without the setting that it is the default of.
    """
    wanted = set(query_terms(question))
    most = SNIPPET_CHARS - (_LEAD_CHARS if label else 0)
    spans = [piece for span in sentences(text) for piece in _pieces(text, span, most)]
    held = [wanted.intersection(index_terms(text[span.start : span.end])) for span in spans]
    best, best_value = Span(0, len(text)), -1.0
    for first, span in enumerate(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= most:
            last += 1
        # Of equals the first wins: a run that starts earlier keeps more of what leads up to it.
        value = len(set[str]().union(*held[first : last + 1])) - 0.01 * first
        if value > best_value:
            best, best_value = Span(span.start, spans[last].end), value
    flat = _lead(text[: best.start], label) + " ".join(text[best.start : best.end].split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    return flat[: SNIPPET_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _lead(before: str, label: str) -> str:
    """The last line before the run that is a term of the label, or its header row."""
    known = " ".join(label.replace("|", " ").split())
    for line in reversed(before.splitlines()):
        plain = " ".join(line.replace("|", " ").split())
        if plain and len(plain) <= _LEAD_CHARS and plain in known:
            return f"{' '.join(line.split())} … "
    return ""


def _pieces(text: str, span: Span, most: int) -> list[Span]:
    """A sentence, or the lines of one that is too long to be shown: rows of a table, code."""
    whole = text[span.start : span.end]
    if len(whole) <= most or "\n" not in whole:
        return [span]
    found, start = [], span.start
    for line in whole.split("\n"):
        if line.strip():
            found.append(Span(start, start + len(line)))
        start += len(line) + 1
    return found
