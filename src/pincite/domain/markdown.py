"""The report as Markdown: the canonical text of `Report.markdown`, readable as it stands in a terminal.

Every word that comes from a page, a provider, a model or the asker is escaped, so that it can't make a link, an image,
HTML, a heading or a citation mark; each piece stays on one line, so it can't make a table either. The only links are
the `<https://...>` of references and leads.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal
from urllib.parse import quote

from pincite.domain.layout import (
    Code,
    Grid,
    Laid,
    Listing,
    Paragraphs,
    Piece,
    Quotation,
    Run,
    Section,
    Sentence,
    SentenceKind,
    laid_out,
    names_in,
    styled,
)
from pincite.domain.reasons import reason_text
from pincite.domain.report import PartStatus, Reference, Report, ReportConflict, ReportLead, ReportStatus
from pincite.domain.report_words import (
    ANSWER_HEADING,
    BALANCE_WORD,
    CONFLICTS_HEADING,
    LEAD_ABOUT,
    LEADS_HEADING,
    REFERENCES_HEADING,
    SUPPORT_WORD,
    backing,
    balance_text,
    conflict_text,
    constraints_text,
    coverage_text,
    day,
    labelled,
    linkable,
    no_answer_text,
    one_line,
    open_heading,
    open_points,
    partial_text,
    question_text,
    without_controls,
)

CitationStyle = Literal["[n]", "[n](citation:n)"]

_PLAIN_MARK = re.compile(r"(?<!\\)\[(\d+)\](?!\()")
_LINKED_MARK = re.compile(r"(?<!\\)\[(\d+)\]\(citation:\1\)")

# A code span stands before its signs are looked at: nothing is escaped in there.
_ESCAPED = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])")
_FENCE = re.compile(r"(?:> ?)?(`{3,})")

# What has to be escaped, and nothing more: an escaped character is one more thing to read past.
_SPECIAL = re.compile(
    r"""
    \\(?=[!-/:-@\[-`{-~]|$)                 # a backslash that would escape something, or the mark after it
    | [`~]                                  # code spans, strike-through
    | \*(?=\S) | (?<=\S)\*                  # emphasis; "SELECT * FROM" stays
    | (?<![^\W_])_ | _(?![^\W_])            # emphasis; "pg_stat_activity" stays
    | <(?=[A-Za-z/!?])                      # HTML, comments, autolinks
    | &(?=\#|[A-Za-z][A-Za-z0-9]*;)         # character references
    | \[(?=\d+\])                           # our own citation marks
    | \](?=[\[(:]|$)                        # links and link definitions
    | (?<=[A-Za-z]):(?=//)                  # bare URLs, which many viewers turn into links
    | (?i:(?<=mailto)|(?<=xmpp)):           # the same without slashes
    | (?i:(?<=\bwww))\.                     # the same without a scheme
    | (?<=[\w.+-])@(?=\w)                   # bare mail addresses, the same
    """,
    re.VERBOSE,
)
_BLOCK_START = re.compile(r"(?P<before>\d{1,9}(?=[.)](?:\s|$)))|(?=[#>*+=-]|\[[ xX]\])")
_URL_UNSAFE = re.compile(r"[\s<>\\`|]|\[(?=\d+\])")


def render_markdown(report: Report, style: CitationStyle = "[n]") -> str:
    """The whole report as Markdown with `[n]` or `[n](citation:n)` marks; the same report gives the same text."""
    return restyle("\n\n".join(_blocks(report)) + "\n", style)


def restyle(markdown: str, style: CitationStyle) -> str:
    """The same Markdown with its citation marks in `style`; changing there and back gives the first text again.

    Code stays as it is: `a[1]` in a fence is no citation.
    """
    if style == "[n]":
        return _outside_code(markdown, lambda line: _LINKED_MARK.sub(r"[\1]", line))
    return _outside_code(markdown, lambda line: _PLAIN_MARK.sub(r"[\1](citation:\1)", line))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """The Markdown with each line changed that is not in a fence."""
    fence = ""
    lines: list[str] = []
    for line in markdown.split("\n"):
        marked = _FENCE.match(line)
        opens = not fence and marked is not None
        lines.append(line if fence or opens else change(line))
        if opens and marked is not None:
            fence = marked[1]
        elif marked is not None and marked[1] == fence and line.endswith(fence):
            fence = ""
    return "\n".join(lines)


def escape(text: str) -> str:
    """`text` on one line with every character escaped that would mean something in Markdown or to a terminal."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], one_line(text))


def for_terminal(markdown: str) -> str:
    """Markdown to be read as it stands: what `escape` put in front of signs is left out; code never had any."""
    return _outside_code(markdown, lambda line: _ESCAPED.sub(lambda found: found[2] or found[0], line))


def _blocks(report: Report) -> Iterator[str]:
    yield _heading(1, report.title or report.question)
    if question := question_text(report):
        yield f"Question: {escape(question)}"
    yield from _above(report)
    if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
        yield no_answer_text(report)
        if count := len(report.rejected_claims):
            yield f"{count} {'statement was' if count == 1 else 'statements were'} considered; none passed the checks."
    elif report.status is ReportStatus.PARTIAL:
        yield partial_text(report)
    if report.summary.sentences:
        yield _heading(2, ANSWER_HEADING)
        yield _block(" ".join(map(_sentence, report.summary.sentences)))
    for section in report.sections:
        yield _heading(2, section.heading)
        yield "\n\n".join(_pieces(section))
    yield from _open(report)
    if report.leads:
        yield _heading(2, LEADS_HEADING)
        yield "\n".join(map(_lead, report.leads))
    if balance := balance_text(report):
        yield f"{BALANCE_WORD}: {escape(balance)}"
    if support := coverage_text(report.coverage, report.notes):
        yield f"{SUPPORT_WORD}: {escape(support)}"
    if report.references:
        yield _heading(2, REFERENCES_HEADING)
        yield from map(_reference, report.references)


def _above(report: Report) -> Iterator[str]:
    """What stands above the answer: the limits of the run and how the question was read."""
    if limits := constraints_text(report.constraints):
        yield f"Limits: {escape(limits)}"
    if report.notes:
        yield f"*{escape(' '.join(report.notes))}*"


def _open(report: Report) -> Iterator[str]:
    """What the sources leave open: conflicts, parts without an answer, gaps."""
    if listed := report.listed_conflicts():
        yield _heading(2, CONFLICTS_HEADING)
        yield "\n".join(line for conflict in listed for line in _conflict(conflict, report))
    lines: list[str] = []
    for point in open_points(report):
        lines.append(f"- {_block(escape(point.line))}")
        # Of a part that is answered but for something, that is what a reader wants to know; the JSON has its queries.
        if point.searched and point.status is not PartStatus.PARTLY:
            lines.append(f"    - {escape(point.searched)}")
    if lines:
        yield _heading(2, open_heading(report))
        yield "\n".join(lines)


def _heading(level: int, text: str) -> str:
    # A trailing run of # would be taken for the closing half of the heading.
    return "#" * level + " " + re.sub(r"(#+)$", r"\\\1", escape(text))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _pieces(section: Section) -> Iterator[str]:
    before = ""
    for laid in laid_out(section):
        text = _laid(laid)
        if isinstance(laid, Code) and laid.made and laid.note:
            text += f" *{escape(laid.note)}*"
        if isinstance(laid, Quotation) and not laid.path and isinstance(laid.contents[0], Code):
            mark = _marks(laid.references)
            # The sentence before it says what the code does: the mark of the same page stands for both.
            text = text.removesuffix(f"\n\n{mark}") if before.endswith(mark) else text
        before = text
        yield text


def _laid(laid: Laid, *, bare: bool = False) -> str:
    """A piece of a section as Markdown; `bare` sentences carry no marks."""
    match laid:
        case Quotation():
            place = escape(" › ".join(laid.path))
            said = "\n\n".join(_laid(content, bare=True) for content in laid.contents)
            if not place and isinstance(laid.contents[0], Code):  # what it is about stands before it
                return f"{said}\n\n{_marks(laid.references)}"
            head = " ".join(filter(None, (f"**{place}**" if place else "", _marks(laid.references))))
            return "\n".join(f"> {line}".rstrip() for line in (head, "", *said.split("\n")))
        case Code():
            codes = ("\n".join(without_controls(piece.text) for piece in entry) for entry in laid.entries)
            said = "\n\n".join(_fenced(code, laid.language) for code in codes)
            behind = {n for entry in laid.entries for piece in entry for n in piece.sentence.references}
            return f"{said}\n\n{_marks(sorted(behind))}" if laid.made else said
        case Grid():
            rows = [[_cell(_run(cell, bare=bare, marked=not laid.marks_by_row)) for cell in row] for row in laid.rows]
            if laid.names:
                cited = ({n for s in laid.cited(at) for n in s.references} for at in range(len(rows)))
                heads = (
                    " ".join(filter(None, (_name(name, laid.code), _marks(sorted(numbers)))))
                    for name, numbers in zip(laid.names, cited, strict=True)
                )
                rows = [[_cell(head), *row] for head, row in zip(heads, rows, strict=True)]
            named = [_cell(_name(name, laid.code)) for name in laid.header]
            header, *lines = ([*row, *[""] * (laid.width - len(row))] for row in (named, *rows))
            return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *lines))
        case Listing():
            entries = enumerate((_block(_run(entry, bare=bare)) for entry in laid.entries), start=laid.start)
            return "\n".join(f"{f'{n}.' if laid.numbered else '-'} {entry}" for n, entry in entries)
        case Paragraphs():
            return "\n\n".join(_block(_run(entry, bare=bare)) for entry in laid.entries)


def _run(pieces: Run, *, bare: bool, marked: bool = True) -> str:
    if bare:
        shown = ((piece, one_line(without_controls(piece.text))) for piece in pieces)
        return " ".join(_part(piece, text) if piece.span else _words(piece.sentence, text) for piece, text in shown)
    return " ".join(_sentence(piece.sentence, marked=marked) for piece in pieces)


def _part(piece: Piece, printed: str) -> str:
    """The words of a cell of a row that stands as on its page."""
    first, last = piece.span or (0, 0)
    struck = tuple((low - first, high - first) for low, high in piece.sentence.struck if first <= low and high <= last)
    return _words(Sentence(piece.text, SentenceKind.CONNECTIVE, struck=struck), printed)


def name_of(text: str, code: Sequence[str]) -> Sentence:
    """The name of a row or a column, to be printed as sentences are; `code` is what is set as code in it."""
    line = one_line(text)
    return Sentence(line, SentenceKind.CONNECTIVE, code=names_in(line, code))


def _name(text: str, code: Sequence[str]) -> str:
    name = name_of(text, code)
    return _words(name, name.text)


def _words(sentence: Sentence, printed: str) -> str:
    """The words of a sentence, names in code spans, what it is about in bold, what its page crosses out as that."""
    if not (sentence.code or sentence.lead or sentence.struck) or one_line(printed) != printed:
        return escape(printed)
    special = {match.start() for match in _SPECIAL.finditer(printed)}
    shift = len(printed) - len(sentence.text)
    special.difference_update(at + shift for low, high in sentence.struck for at in (low, low + 1, high - 2, high - 1))
    lead, rest, at = "", "", 0
    for run in styled(replace(sentence, marked=()), printed):
        plain = (f"\\{sign}" if place in special else sign for place, sign in enumerate(run.text, start=at))
        text = f"`{run.text}`" if run.is_code and "`" not in run.text else "".join(plain)
        lead, rest = (lead + text, rest) if run.leads else (lead, rest + text)
        at += len(run.text)
    # Stars between other stars or before a word are no bold (CommonMark 6.2).
    is_bold = bool(lead) and "*" not in lead and lead == lead.strip() and rest[:1] in ("", *" ,;:.")
    return f"**{lead}**{rest}" if is_bold else lead + rest


def _fenced(code: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    # CommonMark §4.5: code may hold any fence that is shorter than its own.
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _sentence(sentence: Sentence, *, marked: bool = True) -> str:
    text = _words(sentence, one_line(labelled(sentence)))
    return f"{text} {_marks(sentence.references)}" if sentence.references and marked else text


def _marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


def _block(text: str) -> str:
    # Only at the start of a block: in the midst of a line "1." and "#" mean nothing. What is escaped has no two stars:
    # those that set apart what a sentence is about are ours.
    is_ours = text.startswith("**")
    return text if is_ours or not _BLOCK_START.match(text) else _BLOCK_START.sub(r"\g<before>\\", text, count=1)


def _conflict(conflict: ReportConflict, report: Report) -> Iterator[str]:
    yield "- " + _block(escape(conflict_text(conflict)))
    for side in conflict.sides:
        sources, numbers = backing(side, report)
        yield "    - " + " ".join(filter(None, (_block(escape(side.statement)), sources, _marks(numbers))))


def lead_head(lead: ReportLead, *, why: str | None = None) -> str:
    """The line that names a page which was not read, by its address where it has no title, and says why.

    `why` is in our words, or as given.
    """
    said = reason_text(lead.reason) if why is None and lead.reason else why
    name = _block(escape(lead.title)) if _is_titled(lead) else _link(lead.url)
    return f"- {name}" + (f" ({escape(said)})" if said else "")


def _is_titled(lead: ReportLead) -> bool:
    return bool(lead.title) and lead.title != lead.url


def _lead(lead: ReportLead) -> str:
    address = f"\n  {_link(lead.url)}" if _is_titled(lead) else ""
    about = f"\n  {LEAD_ABOUT}: {escape(lead.about)} (not read)" if lead.about else ""
    return f"{lead_head(lead)}{address}{about}"


def _reference(reference: Reference) -> str:
    dated = f"published {day(reference.published_at)}" if reference.published_at else ""
    title = "" if reference.title == reference.url else escape(reference.title)
    head = ", ".join(filter(None, (title, escape(reference.author or ""), dated)))
    read_from = reference.fetched_url not in ("", reference.url)
    tail = (
        f"accessed {day(reference.accessed_at)}",
        f"read from {_link(reference.fetched_url)}" if read_from else "",
        escape(reference.note),
    )
    lines = filter(None, (head, _link(reference.url), "; ".join(filter(None, tail))))
    return f"[{reference.n}] " + "\n".join(lines)


def _link(url: str) -> str:
    """A web address as an autolink; anything else as plain text."""
    if not linkable(url):
        return _block(escape(url))
    return "<" + _URL_UNSAFE.sub(lambda found: quote(found[0], ""), one_line(url)) + ">"
