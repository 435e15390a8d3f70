"""The blocks of a section as HTML, for the file and for the web pages: only how a sentence is written differs."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import Protocol

from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock, Section, Sentence, paragraphs
from pincite.domain.markdown import one_line
from pincite.domain.signs import PROOFS, cells_of, highlighted_pieces, place_of


class HtmlSentences(Protocol):
    """Writes sentences in one kind of page."""

    def words(self, sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False) -> str:
        """The words of a sentence, or a part of them, such that choosing them leads to their passage.

        `bare` says that no marks follow: the words alone have to lead there.
        """
        ...

    def after(self, sentence: Sentence, *, bare: bool = False) -> str:
        """The proof mark and, unless `bare`, the numbers after a sentence."""
        ...

    def source(self, n: int) -> tuple[str, str]:
        """The title of a reference as text, and its number as a mark."""
        ...


def section_html(section: Section, to: HtmlSentences) -> Iterator[str]:
    """The sentences of a section as they are laid out."""
    if section.blocks:
        for block in section.blocks:
            yield from _block(block, section.sentences, to)
        return
    found = paragraphs(section.sentences)
    if len(found) == 1:
        yield f'<p dir="auto">{_run(found[0], to)}</p>'
    else:
        yield from _listed("ul", [_run(part, to) for part in found])


def proof_html(sentence: Sentence) -> str:
    """The mark that tells how a sentence was proven: a shape to see, a word to hear and to hover over."""
    if sentence.proof is None:
        return ""
    sign = PROOFS[sentence.proof]
    said = f'<span aria-hidden="true">{sign.shape}</span><span class="hidden"> {sign.word} </span>'
    return f'<span class="proof {sentence.proof}" title="{escape(f"{sign.word}: {sign.means}")}">{said}</span>'


def highlighted_html(sentence: Sentence, span: tuple[int, int] | None = None) -> str:
    """The words of a sentence with those that tell most set apart."""
    pieces = highlighted_pieces(sentence, span)
    return "".join(f'<b class="telling">{escape(text)}</b>' if tells else escape(text) for text, tells in pieces)


def _block(block: ReportBlock, sentences: Sequence[Sentence], to: HtmlSentences) -> Iterator[str]:
    items = [[sentences[index] for index in item] for item in block.items]
    match block.form:
        case BlockForm.PARAGRAPH:
            yield from (f'<p dir="auto">{_run(item, to)}</p>' for item in items)
        case BlockForm.LIST:
            yield from _listed("ul", [_run(item, to) for item in items])
        case BlockForm.STEPS:
            yield from _listed("ol", [_run(item, to) for item in items])
        case BlockForm.TABLE:
            columns = len(block.header) - bool(block.rows)
            cells = [_run(item, to) for item in items]
            rows = [cells[at : at + columns] for at in range(0, len(cells), columns)]
            yield from _table(block.header, rows, block.rows)
        case BlockForm.EXCERPT:
            if block.excerpt is not None:
                yield from _excerpt(block, block.excerpt, items, to)


def _excerpt(
    block: ReportBlock, excerpt: Excerpt, items: Sequence[Sequence[Sentence]], to: HtmlSentences
) -> Iterator[str]:
    """A piece of a page word for word, under the title of the page and the headings above it there."""
    title, mark = to.source(excerpt.reference_n)
    defines = excerpt.kind is ExcerptKind.DEFINITION and bool(excerpt.term)
    path = excerpt.path if defines or not excerpt.term else (*excerpt.path, excerpt.term)
    place = escape(place_of(title, path))
    yield f'<figure class="excerpt {excerpt.kind}">'
    yield f'<figcaption dir="auto">{place} {mark}</figcaption>'
    yield "<blockquote>"
    match excerpt.kind:
        case ExcerptKind.CODE:
            code = f"<code{_language(excerpt.language)}>"
            yield from (f'<pre tabindex="0">{code}{_quoted(item, to, between=chr(10))}</code></pre>' for item in items)
        case ExcerptKind.TABLE:
            yield from _table(block.header, [_row(row, to) for item in items for row in item])
        case ExcerptKind.LIST:
            yield from _listed("ul", [_quoted(item, to) for item in items])
        case ExcerptKind.STEPS:
            yield from _listed("ol", [_quoted(item, to) for item in items])
        case ExcerptKind.PROSE | ExcerptKind.DEFINITION:
            if defines:
                yield f'<p class="term" dir="auto"><dfn>{escape(one_line(excerpt.term))}</dfn></p>'
            yield from (f'<p dir="auto">{_quoted(item, to)}</p>' for item in items)
    yield "</blockquote>"
    yield "</figure>"


def _run(item: Sequence[Sentence], to: HtmlSentences) -> str:
    return " ".join(to.words(sentence) + to.after(sentence) for sentence in item)


def _quoted(item: Sequence[Sentence], to: HtmlSentences, between: str = " ") -> str:
    return between.join(to.words(sentence, bare=True) + to.after(sentence, bare=True) for sentence in item)


def _row(row: Sentence, to: HtmlSentences) -> list[str]:
    cells = [to.words(row, span, bare=True) for span in cells_of(row.text)]
    cells[-1] += to.after(row, bare=True)
    return cells


def _listed(kind: str, entries: Sequence[str]) -> Iterator[str]:
    yield f'<{kind} class="{"steps" if kind == "ol" else "points"}">'
    yield from (f'<li dir="auto">{entry}</li>' for entry in entries)
    yield f"</{kind}>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], names: Sequence[str] = ()) -> Iterator[str]:
    """A table that can be scrolled by keys where it is wider than the page."""
    width = max(len(header), *(len(row) + bool(names) for row in rows), 1)
    yield '<div class="sheet" tabindex="0" role="region" aria-label="Table"><table class="laid">'
    if header:
        head = "".join(f'<th scope="col" dir="auto">{escape(one_line(name))}</th>' for name in _filled(header, width))
        yield f"<thead><tr>{head}</tr></thead>"
    yield "<tbody>"
    for name, row in zip_longest(names, rows, fillvalue=""):
        first = f'<th scope="row" dir="auto">{escape(one_line(str(name)))}</th>' if names else ""
        cells = "".join(f'<td dir="auto">{cell}</td>' for cell in _filled(row, width - bool(names)))
        yield f"<tr>{first}{cells}</tr>"
    yield "</tbody></table></div>"


def _filled(cells: Sequence[str], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]


def _language(name: str) -> str:
    plain = "".join(c for c in name if c.isalnum() or c in "+-#")
    return f' class="language-{plain}"' if plain else ""
