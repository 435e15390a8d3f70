"""How tools answer: compact results, and errors that a model can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from pincite.domain.errors import NotFound, PinciteError, RunNotFound


def compact(value: BaseModel) -> CallToolResult:
    """The result as structured content, and the same as one text of JSON without white space."""
    text = TextContent(type="text", text=value.model_dump_json())
    return CallToolResult(content=[text], structured_content=value.model_dump(mode="json"))


@contextmanager
def told() -> Iterator[None]:
    """Turns an error of ours into words: its code, what it means, what to do, whether to try again."""
    try:
        yield
    except PinciteError as error:
        raise ToolError(_words(error)) from error


@contextmanager
def found_or_told() -> Iterator[None]:
    """The same for resources."""
    try:
        yield
    except (RunNotFound, NotFound) as error:
        raise ResourceNotFoundError(_words(error)) from error
    except PinciteError as error:
        raise ResourceError(_words(error)) from error


def _words(error: PinciteError) -> str:
    hint = f" {error.hint}" if error.hint else ""
    again = " The same call may work later." if error.retryable else ""
    return f"{error.code}: {error.message}.{hint}{again}"
