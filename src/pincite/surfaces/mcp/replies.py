"""How tools answer: compact results, and errors that a model can act on."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool
from pydantic import BaseModel, ValidationError

from pincite.domain.errors import NotFound, PinciteError, RunNotFound
from pincite.domain.events import RunStatus
from pincite.surfaces.mcp.shapes import Progress
from pincite.surfaces.secrecy import masked


def compact(value: BaseModel) -> CallToolResult:
    """The result as structured content, and the same as one text of JSON without white space."""
    text = TextContent(type="text", text=value.model_dump_json())
    return CallToolResult(content=[text], structured_content=value.model_dump(mode="json"))


def told_as_error_when_failed(run: Progress) -> CallToolResult:
    """Where a run stands; one that failed is a failed call, so that no host takes its words for an answer."""
    answer = compact(run)
    answer.is_error = run.status == RunStatus.FAILED
    return answer


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


Lifespan = TypeVar("Lifespan")

HINTS: Final = {
    "RUN_NOT_FOUND": "Give the whole run_id that research returned.",
    "INSUFFICIENT_EVIDENCE": "Call research_result with the run_id to see where it stands.",
    "SEARCH_PROVIDER_UNAVAILABLE": "Wait a minute, or go on with web_fetch on addresses that you know.",
    "BUDGET_EXHAUSTED": "Answer from what you have; more money is the user's to give.",
    "LIBRARY_NOT_FOUND": "Only the user can change where is searched.",
}
"""What a model can do, where the error's own hint is for somebody at a command line."""
_FOR_PEOPLE: Final = ("pincite ", "--", "Run: ", "Set ", "Install")


class ToolServer(MCPServer[Lifespan]):
    """A server whose tools tell what is wrong with a call in one line, the code of the error first."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Lifespan, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """What the tool answers. Errors: ToolError, in words for a model."""
        if (tool := self._tool_manager.get_tool(name)) is not None:
            known = tool.parameters.get("properties", {})
            if unknown := sorted(set(arguments) - set(known)):
                raise ToolError(_not_known(unknown, known))
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_mistaken(error.__cause__)) from error.__cause__
            raise ToolError(str(error).removeprefix(f"Error executing tool {name}: ")) from error.__cause__

    async def list_tools(self) -> list[Tool]:
        """The tools; what an argument is called is closed, so that a host sees a mistake before it calls."""
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools


def _not_known(unknown: list[str], known: Iterable[str]) -> str:
    near = {name: get_close_matches(name, known, 1) for name in unknown}
    meant = "; ".join(f"{name[:40]}" + (f" (did you mean {like[0]}?)" if like else "") for name, like in near.items())
    return f"INVALID_INPUT: no such argument: {meant}. There are: {', '.join(known)}. Nothing was done."


def _mistaken(error: ValidationError) -> str:
    """What is wrong with the arguments of a call, without what was sent."""
    found = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()]
    return f"INVALID_INPUT: {'; '.join(found)}. Nothing was done; call again with this put right."


def _words(error: PinciteError) -> str:
    hint = HINTS.get(error.code, "" if error.hint.startswith(_FOR_PEOPLE) else error.hint)
    again = "The same call may work later." if error.retryable else ""
    message = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    return str(masked(" ".join(part for part in (f"{error.code}: {message}", hint, again) if part)))
