"""The Markdown of a page written by a model, for who wants to read it. Quotes are never sliced from it.

What it is made from is cleaned HTML; what comes back is held to the page. Whatever goes wrong, the Markdown that rules
make of the page stands, or its text.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, ExtraNotInstalled, PinciteError, ProviderError, RemoteError
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.records import Entry
from pincite.fetch.captures import source_text, window
from pincite.ports import Cache, Clock, Ledger, ModelCalls
from pincite.text.tokens import token_estimate, words

# What a model wrote as the Markdown of a page, held to the page: no foreign link, no picture, no word of its own.

_PICTURE: Final = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\(\s*<?([^\s)>]*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
_REFERENCE: Final = re.compile(r"^ {0,3}\[[^\]]+\]:\s.*$", re.MULTILINE)
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE: Final = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
# The prompt is one file for each version; a changed text is a new version.
_PROMPT_VERSION: Final = "1"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# A model joins cells and headings with a word of its own; more is text that it made up. Chosen, not measured.
_OWN_WORDS: Final = 0.03
# Of the words of the page: less, and it was summed up instead of rewritten. Chosen, not measured.
_LEAST: Final = 0.5


def sound(markdown: str, page_html: str, page_text: str, links: Iterable[str]) -> tuple[str, str]:
    """The Markdown made safe, or nothing and the reason why it is not of this page.

    Args:
        markdown: as the model wrote it.
        page_html: the cleaned HTML that it saw.
        page_text: what the reader got out of the page.
        links: the addresses that the page links to.
    """
    known = set(links)
    clean = "".join(
        part if number % 2 else _prose(part, known)
        for number, part in enumerate(_FENCE.split(_CONTROL.sub("", markdown)))
    ).strip()
    mine = {word.lower() for word in words(clean)}
    have = {word.lower() for word in words(" ".join([page_html, page_text, *known]))}
    own = mine - have
    if any(any(character.isdigit() for character in word) for word in own) or len(own) > _OWN_WORDS * len(mine):
        return "", "has_own_words"
    wanted = {word.lower() for word in words(page_text)}
    if len(wanted & mine) < _LEAST * len(wanted):
        return "", "leaves_out_too_much"
    return clean, ""


def _prose(text: str, known: set[str]) -> str:
    """The text outside of code: pictures and foreign links as their words, tags as text."""
    plain = _REFERENCE.sub("", _PICTURE.sub(r"\1", text))
    plain = _LINK.sub(lambda match: match.group() if match.group(2) in known else match.group(1), plain)
    return _TAG.sub(r"\\<", plain)


# The same text gives the same Markdown: kept as long as the longest page stays fresh.
KEPT: Final = timedelta(days=30)
_NAMESPACE: Final = "page_markdown"
# The output that most models allow; a longer page is written by rules.
_MOST_TOKENS: Final = 32_000
# Longer lines are data; they would take the room of the text.
_LINE_CHARS: Final = 4_000
Clean: TypeAlias = Callable[[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PageMarkdown:
    """The shape in which a model answers."""

    markdown: str


class ModelMarkdown:
    """Writes the Markdown of pages. Made once per request, like its ledger.

    Args:
        calls: the models; None where none is set.
        cache: where what was written stays, so that the next window of a page costs nothing.
        model: name of the model, for the cache.
        clean: the lines of cleaned HTML of a source and its URL.
        deadline_s: what the model has for one page.
    """

    def __init__(
        self,
        calls: ModelCalls | None,
        ledger: Ledger,
        cache: Cache,
        clock: Clock,
        *,
        model: str,
        clean: Clean,
        deadline_s: float,
    ) -> None:
        # A caller waits for a page; without an answer by then the Markdown by rules is given.
        self._deadline_s = deadline_s
        self._clean = clean
        self._calls = calls
        self._ledger = ledger
        self._cache = cache
        self._clock = clock
        self._model = model

    async def of(self, request: FetchRequest, page: FetchResult) -> FetchResult:
        """The page with the window of its content that was asked for, written by the model where it could."""
        markdown, reason = await self._markdown_for(request, page)
        spent = await self._ledger.spent()
        info = replace(
            page.info,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            cost_usd=page.info.cost_usd + spent.cost_usd,
        )
        if markdown:
            shown, more = window(markdown, min(request.offset, len(markdown)), request.max_chars)
            by = f"{self._model} (prompt {_PROMPT_VERSION})"
            info = replace(info, markdown_by=by, markdown_chars=len(markdown))
            return replace(page, content=shown, truncated=more is not None, next_offset=more, info=info)
        info = replace(info, markdown_note=reason)
        if page.content.strip() or request.offset:
            return replace(page, info=info)
        shown, more = window(page.document.text, 0, request.max_chars)
        info = replace(info, markdown_by="text")
        return replace(page, content=shown, truncated=more is not None, next_offset=more, info=info)

    async def _markdown_for(self, request: FetchRequest, page: FetchResult) -> tuple[str, str]:
        """The whole Markdown, or nothing and why."""
        if request.mode == "raw" or request.output_format != "markdown" or "html" not in page.content_type:
            return "", "not_html" if request.mode != "raw" and request.output_format == "markdown" else "not_markdown"
        if self._calls is None:
            return "", "model_not_set"
        source = source_text(page.snapshot)
        try:
            lines = await anyio.to_thread.run_sync(self._clean, source or "", page.final_url)
        except PinciteError as error:
            return "", error.reason
        if sum(map(len, lines)) > request.max_html_chars:
            return "", "html_too_long"
        key = sha256_hex(
            "\x1f".join((_PROMPT_VERSION, self._model, page.final_url, page.snapshot.body_sha256)).encode()
        )
        kept = await self._cache.get(_NAMESPACE, key)
        if kept is not None and self._clock.now() < kept.fresh_until:
            found: str = json.loads(kept.value)
            return found, ""
        return await self._ask_model(page, lines, key)

    async def _ask_model(self, page: FetchResult, lines: tuple[str, ...], key: str) -> tuple[str, str]:
        assert self._calls is not None
        try:
            with anyio.fail_after(self._deadline_s):
                answer = await self._calls.ask(
                    ModelRole.READER, _prompt(page, lines), PageMarkdown, deadline_s=self._deadline_s
                )
        except TimeoutError:
            return "", "model_timeout"
        except (ProviderError, RemoteError, BudgetExhausted, ExtraNotInstalled) as error:
            return "", error.reason
        links = {link.url for link in page.document.links} | {
            mark.href for b in page.document.blocks for mark in b.marks
        }
        made, reason = await anyio.to_thread.run_sync(
            sound, answer.markdown, "\n".join(lines), page.document.text, links
        )
        if made:
            now = self._clock.now()
            await self._cache.put(_NAMESPACE, key, Entry(json.dumps(made).encode(), now + KEPT, now + KEPT, now, {}))
        return made, reason


def _prompt(page: FetchResult, lines: tuple[str, ...]) -> Prompt:
    shown = tuple((f"h{number}", line[:_LINE_CHARS]) for number, line in enumerate(lines, start=1))
    room = 500 + round(1.5 * token_estimate("\n".join(lines)))
    return Prompt(
        "markdown",
        _PROMPT_VERSION,
        _instructions(),
        material=(Material(page.title or "Page", shown),),
        closing="Now give the Markdown of this page.",
        max_tokens_out=min(room, _MOST_TOKENS),
    )


@cache
def _instructions() -> str:
    file = resources.files("pincite.fetch") / "prompts" / f"markdown.v{_PROMPT_VERSION}.md"
    return file.read_text(encoding="utf-8").strip()
