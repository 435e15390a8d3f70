"""The blocks of a section as HTML, for the file and for the web pages: only how a sentence is written differs."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import Protocol

from pincite.domain.layout import (
    Code,
    ExcerptKind,
    Grid,
    Laid,
    Listing,
    Paragraphs,
    Quotation,
    Run,
    Section,
    Sentence,
    Styled,
    laid_out,
)
from pincite.domain.markdown import name_of
from pincite.domain.report_words import one_line
from pincite.domain.signs import PROOFS, place_of, styled_pieces


class HtmlSentences(Protocol):
    """Writes sentences in one kind of page."""

    def words(self, sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False) -> str:
        """The words of a sentence, or a part of them, such that choosing them leads to their passage.

        `bare` says that no marks follow: the words alone have to lead there.
        """

    def after(self, sentence: Sentence, *, bare: bool = False) -> str:
        """The proof mark and, unless `bare`, the numbers after a sentence."""

    def numbers(self, sentences: Sequence[Sentence]) -> str:
        """The numbers of several sentences, each once."""

    def cited(self, numbers: Sequence[int]) -> tuple[str, str]:
        """The title of the first reference as text, and the numbers of all as marks."""


def section_html(section: Section, to: HtmlSentences) -> Iterator[str]:
    """The sentences of a section as they are laid out."""
    for laid in laid_out(section):
        yield from _laid(laid, to)


def proof_html(sentence: Sentence) -> str:
    """The mark that tells how a sentence was proven: a shape to see, a word to hear and to hover over."""
    if sentence.proof is None:
        return ""
    sign = PROOFS[sentence.proof]
    said = f'<span aria-hidden="true">{sign.shape}</span><span class="hidden"> {sign.word} </span>'
    return f'<span class="proof {sentence.proof}" title="{escape(f"{sign.word}: {sign.means}")}">{said}</span>'


def styled_html(sentence: Sentence, span: tuple[int, int] | None = None) -> str:
    """The words of a sentence: those that tell most and what it is about set apart, names as code."""
    return "".join(map(_styled, styled_pieces(sentence, span)))


def _styled(run: Styled) -> str:
    text = escape(run.text)
    text = f"<code>{text}</code>" if run.is_code else text
    text = f"<s>{text}</s>" if run.is_struck else text
    text = f'<b class="telling">{text}</b>' if run.tells else text
    return f"<strong>{text}</strong>" if run.leads else text


def _name(text: str, code: Sequence[str]) -> str:
    return styled_html(name_of(text, code))


def _laid(laid: Laid, to: HtmlSentences, *, bare: bool = False) -> Iterator[str]:
    match laid:
        case Quotation():
            yield from _quotation(laid, to)
        case Code():
            code = f'<code class="language-{laid.language}">' if laid.language else "<code>"
            if not laid.made:
                entries = (_run(entry, to, bare=bare, between="\n") for entry in laid.entries)
                yield from (f'<pre tabindex="0">{code}{entry}</code></pre>' for entry in entries)
            for piece in (piece for entry in laid.entries for piece in entry if laid.made):
                said = piece.sentence
                yield f'<figure class="excerpt code"><pre tabindex="0">{code}{to.words(said, bare=True)}</code></pre>'
                yield f"<figcaption>{to.after(said)} {escape(laid.note)}</figcaption></figure>"
        case Grid():
            rows = [[_run(cell, to, bare=bare or laid.marks_by_row) for cell in row] for row in laid.rows]
            heads = [_name(name, laid.code) + to.numbers(laid.cited(at)) for at, name in enumerate(laid.names)]
            yield from _table(laid, heads, rows)
        case Listing():
            kind = "ol" if laid.numbered else "ul"
            start = f' start="{laid.start}"' if laid.start > 1 else ""
            yield f'<{kind} class="{"steps" if laid.numbered else "points"}"{start}>'
            yield from (f'<li dir="auto">{_run(entry, to, bare=bare)}</li>' for entry in laid.entries)
            yield f"</{kind}>"
        case Paragraphs():
            yield from (f'<p dir="auto">{_run(entry, to, bare=bare)}</p>' for entry in laid.entries)


def _quotation(laid: Quotation, to: HtmlSentences) -> Iterator[str]:
    """Pieces of a page word for word, under the title of the page and the headings above it there."""
    excerpt = laid.excerpt
    title, marks = to.cited(laid.references)
    defines = excerpt.kind is ExcerptKind.DEFINITION and bool(excerpt.term)
    yield f'<figure class="excerpt {excerpt.kind}">'
    place = escape(place_of(title, excerpt.path if defines else laid.path))
    yield f'<figcaption dir="auto">{place} {marks}</figcaption>'
    yield "<blockquote>"
    if defines:
        yield f'<p class="term" dir="auto"><dfn>{escape(one_line(excerpt.term))}</dfn></p>'
    for content in laid.contents:
        yield from _laid(content, to, bare=True)
    yield "</blockquote>"
    yield "</figure>"


def _run(pieces: Run, to: HtmlSentences, *, bare: bool, between: str = " ") -> str:
    return between.join(
        to.words(piece.sentence, piece.span, bare=bare) + (to.after(piece.sentence, bare=bare) if piece.ends else "")
        for piece in pieces
    )


def _table(grid: Grid, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table that can be scrolled by keys where it is wider than the page."""
    yield '<div class="sheet" tabindex="0" role="region" aria-label="Table"><table class="laid">'
    if grid.header:
        names = _filled(grid.header, grid.width)
        head = "".join(f'<th scope="col" dir="auto">{_name(name, grid.code)}</th>' for name in names)
        yield f"<thead><tr>{head}</tr></thead>"
    yield "<tbody>"
    for name, row in zip_longest(heads, rows, fillvalue=""):
        first = f'<th scope="row" dir="auto">{name}</th>' if grid.names else ""
        cells = "".join(f'<td dir="auto">{cell}</td>' for cell in _filled(row, grid.width - bool(grid.names)))
        yield f"<tr>{first}{cells}</tr>"
    yield "</tbody></table></div>"


def _filled(cells: Sequence[str], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]
