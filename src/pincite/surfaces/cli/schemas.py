"""JSON Schemas that a user gives."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.domain.errors import InvalidInput

if TYPE_CHECKING:
    from pincite.domain.events import Json


def read_schema(path: Path) -> "Json":
    """The JSON Schema of a file. Errors: InvalidInput (not there, not JSON, or not one that can be filled)."""
    from pincite.research.schema_fields import fields_of

    try:
        schema: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is no JSON Schema: {error}", reason="schema_unreadable") from None
    fields_of(schema)
    return schema
