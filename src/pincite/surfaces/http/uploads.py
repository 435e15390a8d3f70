"""Files that come with a form (`multipart/form-data`), as browsers and many programs send them."""

from collections.abc import Mapping

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass

# What a person picks for one question; the whole body is bounded besides (`gate.MAX_BODY_BYTES`).
MAX_FILES = 5
# As of forms without files.
MAX_FIELDS = 50


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as it was sent: its name and kind are the sender's word."""

    name: str
    content_type: str
    data: bytes


def is_multipart(request: Request) -> bool:
    """Whether the body is a form with files."""
    return request.headers.get("content-type", "").split(";", 1)[0].strip().lower() == "multipart/form-data"


async def files_of(request: Request) -> tuple[SentFile, ...]:
    """The files of the form; a field that was left empty is none. Errors: InvalidInput (`not_a_form`)."""
    return (await form_of(request))[1]


async def form_of(request: Request) -> tuple[Mapping[str, str], tuple[SentFile, ...]]:
    """The fields and the files of the form. Errors: InvalidInput (`not_a_form`, also for too many of either)."""
    try:
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form:
            sent = form.multi_items()
            fields = {name: value for name, value in sent if isinstance(value, str)}
            files = [
                SentFile(value.filename, value.content_type or "", await value.read())
                for _, value in sent
                if isinstance(value, UploadFile) and value.filename
            ]
    except (HTTPException, MultiPartException) as error:
        said = error.detail if isinstance(error, HTTPException) else error.message
        raise InvalidInput(f"this form can't be read: {said}", reason="not_a_form") from error
    return fields, tuple(files)
