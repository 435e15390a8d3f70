"""Token-bounded slices of a document, on the borders of its blocks.

A chunk is a plain slice of `Document.text`, so every quote found in it has its offset in the document. A heading or a
term is never the last thing in a chunk. A block larger than a chunk is cut between lines (code, tables) or sentences.
"""

from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.page import Block, BlockKind, Document
from pincite.text.sentences import sentences
from pincite.text.tokens import token_estimate

_LEADS_ON = frozenset({BlockKind.HEADING, BlockKind.TERM, BlockKind.CAPTION})
# Room for ending at the border of a block instead of inside one. Chosen, not measured.
_SPREAD = 0.2
# Blocks are cut into pieces of that share of a slice, so that a long one fills slices evenly.
_PIECE_SHARE = 0.2
# Fewer than any language has on average: a piece is never too long.
_CHARS_PER_TOKEN = 2
# The empty line between two blocks.
_SEPARATOR_TOKENS = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A token-bounded slice `[start, end)` of a document.

    `tokens` is an estimate, `section` the headings above.
    """

    document_id: str
    index: int
    start: int
    end: int
    text: str
    tokens: int
    section: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The hash of `text`: two chunks are the same text when theirs are."""
        return sha256_hex(self.text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or a part of one that is too long, as a span of the text."""

    start: int
    end: int
    tokens: int
    leads_on: bool
    heading: bool


def chunks(document: Document, *, target_tokens: int = 1000, overlap_tokens: int = 75) -> tuple[Chunk, ...]:
    """The document in slices of about `target_tokens` (±20 %), each beginning with the end of the one before.

    The last slice may be shorter; a document under the target is one chunk. Together they cover every block. The
    overlap is `overlap_tokens` (±33 %), cut where a sentence or line begins if there is such a place.
    """
    least, most = round(target_tokens * (1 - _SPREAD)), round(target_tokens * (1 + _SPREAD)) - overlap_tokens * 4 // 3
    pieces = _pieces(document, max(1, round(target_tokens * _PIECE_SHARE)))
    groups = _groups(pieces, least, max(most, 1))
    found: list[Chunk] = []
    for index, group in enumerate(groups):
        start = group[0].start
        if found and overlap_tokens > 0:
            start = _overlap_start(document.text, found[-1].start, groups[index - 1][-1].end, overlap_tokens)
        text = document.text[start : group[-1].end]
        section = document.section_path(group[0].start)
        found.append(Chunk(document.document_id, index, start, group[-1].end, text, token_estimate(text), section))
    return tuple(found)


def _pieces(document: Document, piece_tokens: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    for block, start in zip(document.blocks, document.starts, strict=True):
        tokens = token_estimate(block.text) + _SEPARATOR_TOKENS
        leads_on, heading = block.kind in _LEADS_ON, block.kind is BlockKind.HEADING
        if tokens <= 2 * piece_tokens:
            pieces.append(_Piece(start, start + len(block.text), tokens, leads_on, heading))
            continue
        for begin, end in _cuts(block, piece_tokens):
            size = token_estimate(block.text[begin:end]) + _SEPARATOR_TOKENS
            pieces.append(_Piece(start + begin, start + end, size, leads_on=False, heading=False))
    return [piece for piece in pieces if piece.end > piece.start]


def _cuts(block: Block, piece_tokens: int) -> list[tuple[int, int]]:
    """Spans of a long block, each of at most about `piece_tokens`, together the whole of it."""
    if block.kind in {BlockKind.CODE, BlockKind.TABLE}:
        borders = [index + 1 for index, char in enumerate(block.text) if char == "\n"]
    else:
        borders = [span.start for span in sentences(block.text)][1:]
    borders = [*_filled(block.text, borders, piece_tokens * _CHARS_PER_TOKEN), len(block.text)]
    spans: list[tuple[int, int]] = []
    start = position = tokens = 0
    for border in borders:
        size = token_estimate(block.text[position:border])
        if tokens and tokens + size > piece_tokens:
            spans.append((start, position))
            start, tokens = position, 0
        position, tokens = border, tokens + size
    spans.append((start, len(block.text)))
    return spans


def _filled(text: str, borders: list[int], longest: int) -> list[int]:
    """The borders with more of them, at words where there are any, so that none are further apart than `longest`."""
    result: list[int] = []
    previous = 0
    for border in [*borders, len(text)]:
        while border - previous > longest:
            space = text.rfind(" ", previous + longest // 2, previous + longest)
            previous = space + 1 if space >= 0 else previous + longest
            result.append(previous)
        if border < len(text):
            result.append(border)
        previous = border
    return result


def _groups(pieces: list[_Piece], least: int, most: int) -> list[list[_Piece]]:
    """Pieces in runs of `least` to `most` tokens; a run prefers to end before a heading."""
    groups: list[list[_Piece]] = []
    current: list[_Piece] = []
    tokens = 0
    for piece in pieces:
        full = tokens + piece.tokens > most
        if current and (full or (piece.heading and tokens >= least)):
            end = len(current)
            while end and current[end - 1].leads_on:  # headings and terms at the end belong to what follows
                end -= 1
            if end:
                groups.append(current[:end])
                current = current[end:]
                tokens = sum(item.tokens for item in current)
        current.append(piece)
        tokens += piece.tokens
    if current:
        groups.append(current)
    return groups


def _overlap_start(text: str, lowest: int, end: int, overlap_tokens: int) -> int:
    """Where the repeated end of the chunk `[lowest, end)` begins."""
    begin = max(lowest, end - overlap_tokens * 12)
    tail = text[begin:end]
    wanted_most = overlap_tokens * 4 // 3
    starts = [begin + span.start for span in sentences(tail)]
    starts += [begin + index + 1 for index, char in enumerate(tail) if char == "\n"]
    best = end
    for start in sorted(set(starts), reverse=True):
        if token_estimate(text[start:end]) > wanted_most:
            break
        best = start
    if token_estimate(text[best:end]) >= overlap_tokens * 2 // 3:
        return best
    for index in range(end - 1, begin, -1):
        if text[index - 1].isspace() and token_estimate(text[index:end]) >= overlap_tokens:
            return index
    return best
