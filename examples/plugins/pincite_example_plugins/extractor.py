"""An extractor: the events of an iCalendar file as a page, a heading and a paragraph each (RFC 5545)."""

import unicodedata

from pincite import Document
from pincite.domain.errors import EmptyContent
from pincite.domain.page import Block, BlockKind

_SHOWN = {"DTSTART": "Begins", "DTEND": "Ends", "LOCATION": "Place", "DESCRIPTION": "About"}


class CalendarExtractor:
    """Implements `pincite.ports.Extractor` for `text/calendar`."""

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """The events in the order of the file. Errors: EmptyContent."""
        text = unicodedata.normalize("NFC", body.decode("utf-8", errors="replace"))
        blocks: list[Block] = []
        # A line that begins with a space goes on where the last one ended (section 3.1).
        for line in text.replace("\r\n", "\n").replace("\n ", "").replace("\r", "").split("\n"):
            name, _, value = line.partition(":")
            name, value = name.partition(";")[0].upper(), value.replace("\\n", " ").replace("\\,", ",").strip()
            if name == "SUMMARY" and value:
                blocks.append(Block(BlockKind.HEADING, value, level=2))
            elif name in _SHOWN and value:
                blocks.append(Block(BlockKind.PARAGRAPH, f"{_SHOWN[name]}: {value}"))
        if not blocks:
            raise EmptyContent("the calendar has no events", reason="no_text")
        return Document("calendar", "1", tuple(blocks))
