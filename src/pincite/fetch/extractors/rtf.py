"""RTF to a Document: the visible text, paragraph by paragraph."""

import re
from dataclasses import dataclass, field

from pincite.domain.errors import ParseError
from pincite.domain.page import Block, BlockKind, Document
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean
from pincite.fetch.extractors.html import file_document

EXTRACTOR = "rtf"
VERSION = VERSIONS["rtf"]
# Word nests some tens; deeper files are made to exhaust a reader.
MAX_GROUPS = 1_000

_TOKEN = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)")
_SKIPPED = frozenset(
    "fonttbl colortbl stylesheet info pict object themedata colorschememapping latentstyles datastore generator "
    "listtable listoverridetable rsidtbl header footer headerl headerr footerl footerr xmlnstbl mmathpr fldinst "
    "filetbl revtbl bkmkstart bkmkend nonshppict private annotation atnid atnauthor".split()
)
_CHARACTERS = {
    "par": "\n\n", "sect": "\n\n", "page": "\n\n", "row": "\n\n", "line": "\n", "tab": " ", "cell": " | ",
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
_CODE_PAGES = re.compile(r"\\ansicpg(\d{3,5})")


def read_rtf(body: bytes, url: str) -> Document:
    """The paragraphs of an RTF file; hidden text, tables of fonts and pictures are left out.

    Errors:
        ParseError: nested deeper than `MAX_GROUPS`. EmptyContent: no text.
    """
    source = body.decode("latin-1")
    page = _CODE_PAGES.search(source[:2_000])
    encoding = f"cp{page.group(1)}" if page else "cp1252"
    try:
        "".encode(encoding)
    except LookupError:
        encoding = "cp1252"
    paragraphs = [" ".join(part.split()) for part in clean(_Reader(encoding).run(source)).split("\n\n")]
    blocks = tuple(Block(BlockKind.PARAGRAPH, part.strip(" |")) for part in paragraphs if part.strip(" |"))
    first = blocks[0].text if blocks else ""
    return file_document(EXTRACTOR, VERSION, blocks, url, title=first if len(first) <= 120 else "")


@dataclass(slots=True)
class _Reader:
    """Walks the control words and collects what is shown."""

    encoding: str
    _out: list[str] = field(default_factory=list)
    _stack: list[tuple[bool, int]] = field(default_factory=list)
    _hidden: bool = False
    _starred: bool = False
    _fallback_chars: int = 1
    _to_skip: int = 0

    def run(self, source: str) -> str:
        """The shown text; paragraphs are parted by a blank line."""
        for match in _TOKEN.finditer(source):
            word, number, byte, symbol, brace, plain = match.groups()
            if brace:
                self._brace(brace)
            elif word:
                self._word(word, number)
            elif symbol:
                self._starred = symbol == "*"
                if not self._hidden and symbol in "\\{}~-_":
                    self._out.append({"~": " ", "-": "", "_": "-"}.get(symbol, symbol))
            elif byte and not self._hidden:
                if self._to_skip:
                    self._to_skip -= 1
                else:
                    self._out.append(bytes([int(byte, 16)]).decode(self.encoding, "replace"))
            elif plain and not self._hidden:
                self._out.append(plain[self._to_skip :])
                self._to_skip = 0
        return "".join(self._out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _brace(self, brace: str) -> None:
        if brace == "{":
            self._stack.append((self._hidden, self._fallback_chars))
            if len(self._stack) > MAX_GROUPS:
                raise ParseError(f"groups are nested more than {MAX_GROUPS} deep", reason="too_deep")
        else:
            self._hidden, self._fallback_chars = self._stack.pop() if self._stack else (False, 1)
            self._to_skip, self._starred = 0, False

    def _word(self, word: str, number: str | None) -> None:
        if word in _SKIPPED or self._starred or (word == "v" and number != "0"):
            self._hidden = True
        elif word == "v":
            self._hidden = False
        elif word == "uc":
            self._fallback_chars = min(int(number or 1), 8)
        elif word == "u" and number and not self._hidden:
            self._out.append(chr(int(number) % 65_536))
            self._to_skip = self._fallback_chars
        elif word in _CHARACTERS and not self._hidden:
            self._out.append(_CHARACTERS[word])
        self._starred = False
