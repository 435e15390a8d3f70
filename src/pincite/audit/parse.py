"""A report from anywhere as sentences with what they cite. Offsets stay those of the text that was given."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pincite.audit.findings import ListedReference
from pincite.audit.markers import Marker, markers
from pincite.audit.references import find_references, first_author, lines_of
from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass
from pincite.domain.layout import EXAMPLE_NAMES, MADE_CODE
from pincite.domain.model import ModelRole
from pincite.domain.reasons import REASONS
from pincite.domain.report_words import (
    BALANCE_WORD,
    MAYBE_PARTIAL,
    NO_ANSWER,
    NOT_SURELY_ALL,
    NOTHING_BESIDE,
    PARTIAL_ANSWER,
    PARTLY_ANSWERED,
    SEARCHED_FOR,
    TOUCHED_ON,
    WORDS_ONLY,
)
from pincite.text.sentences import Span, sentences
from pincite.verification.facts import check_facts

# About a thousand pages: a book, not a report. Offsets and lists grow with it.
LONGEST_REPORT_CHARS = 5_000_000
_FENCE = re.compile(
    r"^[ \t]{0,3}(?:>[ \t]?)?(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^[ \t]{0,3}(?:>[ \t]?)?\1[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
# What a report of ours says of itself: how its sentences were proven, that it is partial, from how many pages it is,
# what was searched for. Whole forms, in which only search words stand freely: a fact in such a line would be hidden.
_SITE = r"[^\s,]++(?: \(\d+\))?"
_JUDGED = r"(?:, judged by [^\s,;]++(?:, [^\s,;]++)*+(?: \((?:not )?the model that wrote them\))?)?"
_PROVEN = (
    rf"\d+ (?:sentences? in their sources' words|paraphrases?{_JUDGED}|derived{_JUDGED})"
    r"|nothing was left out, the judge let all \d+ pass in the end"
)
_LIMITS = (
    rf"- the (?:{'|'.join(ModelRole)}) worked by rules, without the model: "
    rf"(?:{'|'.join(sorted(map(re.escape, set(REASONS.values()))))})"
    r"|- (?:more may be found with a higher cap on [a-z ]+"
    r"|the search ended at its cap on [a-z ]+; more may be found with a higher one)"  # in reports of before
    r"|\d+ statements? (?:was|were) considered; none passed the checks\."
    r"|\*No page has “[^\s”]+”(?: or “[^\s”]+”){0,2}\.\*"
    rf"|- {NOTHING_BESIDE} “[^”\n]*”"
)
_BECAME = (
    rf"answered in part: {NOT_SURELY_ALL}|no sure answer found in (?:the one page|any of the \d+ pages) read"
    r"|(?:answered in part|no sure answer found)(?:: no page read has [^\s,]+(?:, [^\s,]+)*+)?"
)
_FIRST_LINES = (PARTIAL_ANSWER, PARTLY_ANSWERED, MAYBE_PARTIAL, TOUCHED_ON, NO_ANSWER)
_OF_ITSELF = re.compile(
    rf"^(?:{BALANCE_WORD}: (?:{_PROVEN})(?:; (?:{_PROVEN}))*+\."
    rf"|{'|'.join(map(re.escape, _FIRST_LINES))}|{_LIMITS}"
    rf"|[ ]{{4}}- {SEARCHED_FOR} “[^”\n]*”(?:; “[^”\n]*”)*+(?:; and in \d+ other wordings?)?)$"
    rf"|(?<=\d\] )\*{MADE_CODE}(?:; {EXAMPLE_NAMES})?\*$"
    rf"|(?<=\S) – (?:{_BECAME})$|{re.escape(WORDS_ONLY)}"
    rf"|^\*From \d+ (?:of \d+ pages|page) read, in their own words: {_SITE}(?:, {_SITE})*+"
    r"(?: and \d+ more\.)?(?= Below: )",
    re.MULTILINE,
)
_BELOW = re.compile(r"(?<=[ *])Below: ")
_TITLE = re.compile(r"^#{1,6} ([^\n]+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CODE = re.compile(r"(?<!`)(`{1,8}+)(?!`)[^\n]{1,500}?(?<!`)\1(?!`)")
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)|(?<!!)\[\]\((?!https?:)[^)\n]*\)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)|^\s*(?:\*\*|__)[^*_\n]{1,120}(?:\*\*|__):?\s*$")
_UNDERLINE = re.compile(r"^\s{0,3}(?:=++|-{3,}+)\s*+$")
_RULE = re.compile(
    r"^\s*+(?:[-*_]\s*+){3,}+$|^\s*+\|?(?:\s*+:?-{2,}+:?\s*+\|)+\s*+:?-*+:?\s*+$"  # possessive: linear on any line
)
_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^|\n]+\|[^|\n]+\|[^\n]*$")
_PREFIX = re.compile(r"^(?:\s*+>)*+\s*+(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|^(?:\s*+>)++\s?")
# A block quotation under the title of its page: "> **Title** [1]", as this program's own reports print excerpts.
_TITLED_QUOTE = re.compile(
    r"^[ ]{0,3}>[ ]?(?:\*\*|__)[^\n]{1,600}?(?:\*\*|__)[^\w\n]{0,3}\[[^\n]{1,200}\n(?:[ ]{0,3}>[^\n]*(?:\n|\Z))*+",
    re.MULTILINE,
)
# Between a marker and what goes on stand spaces and a line end, seldom more; a bound keeps the pattern linear.
_GAP_CHARS = 8
# "Background and previous work:" is a label; what is longer and has no fact is still read as a sentence.
_LABEL_WORDS = 8
_AFTER_MARKER = re.compile(rf"(?P<stop>[.!?]?)\s{{1,{_GAP_CHARS}}}(?P<letter>[^\W\d_])")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.!?])[*_](?!\w)|`|(?P<tag><[^<>\n]{1,80}>)")
# Signs that mean themselves are set apart while the others are taken away.
_LITERAL = re.compile(rf"{_CODE.pattern}|\\(?P<sign>[!-/:-@\[-`{{-~])")
_APART = 0x10F000  # in a plane for private use, where no text has anything
_AWAY = {sign: _APART + sign for sign in range(0x21, 0x7F) if not chr(sign).isalnum()}
_BACK = {there: sign for sign, there in _AWAY.items()}


@dataclass(frozen=True, slots=True)
class ReportSentence:
    """A sentence at `[start, end)`; `claim` is its text without markers and emphasis.

    `references` are indexes of what it cites, `missing` markers that lead to no entry.
    """

    start: int
    end: int
    claim: str
    references: tuple[int, ...]
    missing: tuple[str, ...]
    heading: bool = False


@dataclass(frozen=True, slots=True)
class ParsedReport:
    """The sentences in order and everything the report names as a source."""

    text: str
    sentences: tuple[ReportSentence, ...]
    references: tuple[ListedReference, ...]


def parse_report(text: str, annotations: Sequence[Marker] = ()) -> ParsedReport:
    """The report as sentences with their references. `annotations` are citations that came beside the text.

    Errors: InvalidInput (`too_large`, `empty`).
    """
    if not text.strip():
        raise InvalidInput(
            "the report is empty", reason="empty", hint="Give its text, with its links or its list of sources."
        )
    if len(text) > LONGEST_REPORT_CHARS:
        raise InvalidInput(f"the report is longer than {LONGEST_REPORT_CHARS:,} characters", reason="too_large")
    without_code = _blanked(_FENCE.sub(_without_code, text), _COMMENT, _OF_ITSELF)
    without_code = _blank_spans(without_code, _outlines(without_code))
    listed, spans = find_references(without_code)
    book = _Book(listed)
    body = _blank_spans(without_code, spans)
    for_markers = _blanked(body, _CODE, _IMAGE)
    found = sorted((*markers(for_markers, book.known), *annotations), key=lambda marker: marker.start)
    reading = _without_markers(_blanked(body, _IMAGE), found)
    quoted = [match.span() for match in _TITLED_QUOTE.finditer(body)]
    titles = {start for start, _ in quoted}
    result: list[ReportSentence] = []
    for block, heading in _blocks(reading):
        # A title in bold is one, whatever full stops it has: "13.2. Transaction Isolation".
        is_title = body.rfind("\n", 0, block[0]) + 1 in titles
        result += _sentences(reading, block, found, book, heading=heading or is_title)
    return ParsedReport(text, tuple(_with_quoted(quoted, result)), tuple(book.references))


def _with_quoted(groups: Sequence[tuple[int, int]], found: Sequence[ReportSentence]) -> Iterator[ReportSentence]:
    """The sentences, those of a block quotation with the sources that its first line, in bold, names for all of it."""
    starts = [start for start, _ in groups]
    cited: dict[int, ReportSentence] = {}
    for sentence in found:
        at = bisect_right(starts, sentence.start) - 1
        if at < 0 or sentence.start >= groups[at][1]:
            yield sentence
        elif at not in cited:
            cited[at] = sentence
            yield replace(sentence, heading=True)
        elif sentence.references or sentence.missing:
            yield sentence
        else:
            yield replace(sentence, references=cited[at].references, missing=cited[at].missing)


class _Book:
    """The references of one report, found by key and place or by URL."""

    def __init__(self, listed: list[ListedReference]) -> None:
        self.references = list(listed)
        self._by_key: dict[str, list[int]] = {}
        self._by_url: dict[str, int] = {}
        for index, reference in enumerate(listed):
            if reference.key:
                self._by_key.setdefault(reference.key, []).append(index)
            author = first_author(reference)
            if author:
                self._by_key.setdefault(author, []).append(index)
            if reference.url:
                self._by_url.setdefault(reference.url.rstrip("/"), index)

    def known(self, key: str) -> bool:
        return key in self._by_key

    def by_key(self, key: str, position: int) -> int | None:
        """The entry a marker at `position` means: of several lists the next one, else the last before it."""
        indexes = self._by_key.get(key)
        if not indexes:
            return None
        later = [index for index in indexes if self.references[index].start > position]
        return later[0] if later else indexes[-1]

    def by_url(self, url: str, marker: Marker) -> int:
        key = url.rstrip("/")
        if key not in self._by_url:
            self._by_url[key] = len(self.references)
            self.references.append(ListedReference("", url, url, marker.start, marker.end, listed=False))
        return self._by_url[key]


def _blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with what the patterns match replaced by spaces; line breaks and length stay."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text


def _without_code(fence: re.Match[str]) -> str:
    """A fence as spaces; in a block quotation its lines stay marked, so that what stands behind is part of it."""
    blank = re.sub(r"[^\n]", " ", fence[0])
    quoted = fence[0].lstrip().startswith(">")
    return re.sub(r"^ ", ">", blank, flags=re.MULTILINE) if quoted else blank


def _outlines(text: str) -> list[tuple[int, int]]:
    """Where a report lists its own headings ("Below: Rates; 20.10. Risks."): headings are no facts of a page."""
    titles = sorted({match[1].strip() for match in _TITLE.finditer(text)}, key=len, reverse=True)
    found: list[tuple[int, int]] = []
    for below in _BELOW.finditer(text):
        at = below.end()
        while title := next((title for title in titles if text.startswith(title, at)), ""):
            at += len(title)
            if not text.startswith("; ", at):
                break
            at += 2
        if title and text.startswith(".", at):
            found.append((below.start(), at + 1))
    return found


def _blank_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if start < done:
            continue
        parts += (text[done:start], re.sub(r"[^\n]", " ", text[start:end]))
        done = end
    return "".join((*parts, text[done:]))


def _without_markers(text: str, found: Sequence[Marker]) -> str:
    spans: list[tuple[int, int]] = []
    for marker in found:
        if marker.keep is None:
            spans.append((marker.start, marker.end))
        else:
            spans += ((marker.start, marker.keep[0]), (marker.keep[1], marker.end))
    return _blank_spans(text, spans)


def _blocks(text: str) -> Iterator[tuple[tuple[int, int], bool]]:
    """((start, end), is heading) of each paragraph, list item, table row and heading, bullets left out."""
    start: int | None = None
    end = 0
    lines = lines_of(text)
    for index, line in enumerate(lines):
        prefix = _PREFIX.match(line.text)
        heading = bool(_HEADING.match(line.text))
        row = bool(_ROW.match(line.text)) and not prefix
        blank = not line.text.strip()
        rule = bool(_RULE.match(line.text) or _UNDERLINE.match(line.text))
        if start is not None and (blank or heading or row or rule or prefix):
            yield (start, end), rule and not blank and bool(_UNDERLINE.match(line.text))
            start = None
        if blank or rule:
            continue
        head_row = row and index + 1 < len(lines) and bool(_RULE.match(lines[index + 1].text))
        if heading or row:
            yield (line.start, line.end), heading or head_row
            continue
        if start is None:
            start = line.start + (prefix.end() if prefix else 0)
        end = line.end
    if start is not None:
        yield (start, end), False


def _with_labels(piece: str, spans: tuple[Span, ...], start: int, found: Sequence[Marker]) -> tuple[Span, ...]:
    """The sentences, each with the link label that stands alone behind its full stop: "It opened. [Site](url)"."""
    labels = {marker.keep for marker in found if marker.keep is not None and marker.url}
    joined: list[Span] = []
    for span in spans:
        text = piece[span.start : span.end]
        lead = len(text) - len(text.lstrip("([ "))
        place = (span.start + start + lead, span.start + start + len(text.rstrip(".)] ")))
        label = text.strip("()[]. ")
        # The text of a link that names a page is a few words without an exact fact.
        if not (joined and place in labels and len(label.split()) <= _LABEL_WORDS and not check_facts(label, ())):
            joined.append(span)
    return tuple(joined)


def _capitalised(piece: str, start: int, found: Sequence[Marker]) -> str:
    """The block with a capital after each stop with a marker beside it: there a small letter begins a sentence too."""
    letters = list(piece)
    first = bisect_right(found, start - 1, key=lambda marker: marker.start)
    stopped = False
    done = -1
    for marker in found[first:]:
        begin, end = marker.start - start, marker.end - start
        if end > len(piece):
            break
        if piece[done:begin].strip() or done < 0:  # of several markers side by side the first stands at the stop
            stopped = piece[max(0, begin - _GAP_CHARS) : begin].rstrip()[-1:] in (".", "!", "?")
        after = _AFTER_MARKER.match(piece, end)
        if after is not None and (stopped or after["stop"]) and len(after["letter"].upper()) == 1:
            letters[after.start("letter")] = after["letter"].upper()
        done = end
    return "".join(letters)


def _sentences(
    text: str, block: tuple[int, int], found: Sequence[Marker], book: _Book, *, heading: bool
) -> Iterator[ReportSentence]:
    """The sentences of one block. A marker after the full stop belongs to the sentence before it."""
    start, end = block
    piece = text[start:end].replace("|", " ")
    spans = sentences(_capitalised(piece, start, found))
    if heading:
        spans = spans[:0] if not spans else (replace(spans[0], end=spans[-1].end),)
    spans = _with_labels(piece, spans, start, found)
    starts = [span.start + start for span in spans]
    cited: dict[int, list[Marker]] = {}
    first = bisect_right(found, start - 1, key=lambda marker: marker.start)
    for marker in found[first:]:
        if marker.start >= end:
            break
        anchor = marker.keep[0] if marker.keep else marker.start
        cited.setdefault(max(bisect_right(starts, anchor) - 1, 0), []).append(marker)
    for index, span in enumerate(spans):
        references: dict[int, None] = {}
        missing: dict[str, None] = {}
        for marker in cited.get(index, ()):
            if marker.url:
                references[book.by_url(marker.url, marker)] = None
            for key in marker.keys:
                entry = book.by_key(key, marker.start)
                if entry is None:
                    missing[key] = None
                else:
                    references[entry] = None
        claim = _plain(piece[span.start : span.end])
        if not (references or missing or any(map(str.isalnum, claim))):  # what is left of emphasis
            continue
        yield ReportSentence(
            span.start + start, span.end + start, claim, tuple(references), tuple(missing), heading=heading
        )


def _plain(text: str) -> str:
    """A sentence as it is read: without emphasis, tags and what is left of markers; code and escaped signs stay."""
    apart = _LITERAL.sub(lambda literal: (literal["sign"] or literal[0].strip("`")).translate(_AWAY), text)
    claim = " ".join(_EMPHASIS.sub(lambda mark: " " if mark["tag"] else "", apart).lstrip("#").split())
    claim = re.sub(r"(?<=[(\[])\s+|(?<![\s,;:–—-])[\s,;:–—-]++(?=[)\]])", "", claim)
    claim = re.sub(r"\s+([.,;:!?])", r"\1", re.sub(r"(?<!\w)\(\)|\[\]", "", claim))
    return claim.translate(_BACK)
