"""A second try at PDF files that PDFium refuses: cut off, or with a broken table of contents of their own.

The library is the extra `pdf-repair`. It can be killed by deep nesting, so such files are not given to it; services
read in worker processes anyway.
"""

import re

from pincite.domain.errors import TooLarge

# What a PDF may have at all (`FetchLimits.pdf_max_bytes`).
MAX_BYTES = 33_554_432
_DEEP = re.compile(rb"(?:\[\s*){200}|(?:<<\s*/\w{1,40}\s*){200}")
_ENCRYPTED = b"/Encrypt"


def second_pages(body: bytes, max_pages: int) -> tuple[str, ...] | None:
    """The text of each page, or None where the library isn't installed or makes nothing of the file.

    Errors:
        TooLarge: more than `max_pages` pages.
    """
    try:
        import pdf_oxide
    except ImportError:
        return None
    # A locked file reads as empty pages there, without a word.
    if len(body) > MAX_BYTES or _ENCRYPTED in body or b"%PDF-" not in body[:1024] or _DEEP.search(body):
        return None
    try:
        document = pdf_oxide.PdfDocument.from_bytes(body)
        count = document.page_count()
        if count > max_pages:
            raise TooLarge(f"the PDF has {count:,} pages, more than {max_pages:,}", reason="too_many_pages")
        texts = tuple(str(document.extract_text(index)) for index in range(count))
    except (RuntimeError, ValueError, OSError, KeyError, IndexError, TypeError):
        return None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of the library's native part; derives from nothing narrower
            return None
        raise
    return texts if any(text.strip() for text in texts) else None
