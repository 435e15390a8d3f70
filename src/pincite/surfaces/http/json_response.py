"""JSON as this server sends it."""

import json
from typing import Any

from fastapi.responses import JSONResponse


class PlainJson(JSONResponse):
    """Compact UTF-8; lone surrogates of what a caller sent are written as escapes, which read back as they were."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")
