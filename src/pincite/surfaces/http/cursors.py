"""Where a page of a list ended, as a text for the next request. Its inside is nobody's business."""

import base64
import binascii
from datetime import datetime

from pincite.domain.codec import utc_moment, utc_text
from pincite.domain.errors import InvalidInput

_LONGEST = 300


def written(at: datetime, id_: str) -> str:
    """The cursor after the entry of that time and id."""
    return base64.urlsafe_b64encode(f"{utc_text(at)} {id_}".encode()).decode().rstrip("=")


def read(cursor: str) -> tuple[datetime, str]:
    """The time and id of the entry before. Errors: InvalidInput (`bad_cursor`)."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        at, id_ = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(" ", 1)
        return utc_moment(at), id_
    except (ValueError, binascii.Error):
        raise InvalidInput("this is no cursor of ours", reason="bad_cursor", hint="Begin without one.") from None
