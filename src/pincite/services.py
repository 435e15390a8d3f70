"""What takes one call and no run: search, fetch, a file at hand, the audit of a report, a claim, a judge."""

# Read by type checkers alone, or where one of them begins: who fetches a page loads nothing of audits.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pincite.archive import Archive
from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.search import Query
from pincite.wiring.fetching import paid_for, scrape_usd
from pincite.wiring.searching import lane_of

if TYPE_CHECKING:
    from pincite.audit.findings import Audit
    from pincite.audit.recheck import Recheck
    from pincite.domain.events import Json
    from pincite.domain.evidence import Verdict
    from pincite.domain.report import Report
    from pincite.domain.requests import SearchRequest
    from pincite.domain.search import SearchResponse
    from pincite.ports import Judge, Ledger
    from pincite.search.intent import RetrievalContext
    from pincite.search.spending import Spending
    from pincite.wiring.observing import Note

# States of the cache in which somebody outside was asked.
ASKED = frozenset({"off", "miss", "revalidated"})

# What is shown of a file when nothing is asked for.
WHOLE = FetchRequest("")


class Services(Archive):
    """The services of one scope, each within the caps of its settings. Base of `Engine`."""

    # ---- the three services ----

    async def search(
        self,
        query: str | Query | SearchRequest,
        *,
        context: RetrievalContext | float | None = None,
        lane: str | None = None,
        spending: Spending | None = None,
    ) -> SearchResponse:
        """Results of the sources in the settings. Within their cap on dollars.

        Args:
            query: what to look for; a request also says the lane, the confidence and the dollars at most.
            context: what the caller's own retrieval came to, or only how sure it is, 0 to 1. The gate may then find
                that no web is needed: cached results come back, perhaps none, with the reason in `info`.
            lane: who goes first at the engines' limits; the setting `lane` when None.
            spending: whose money it is, when not this engine's.

        Errors: InvalidInput, InvalidTopic, LibraryNotFound, SearchProviderUnavailable, BudgetExhausted.
        """
        from pincite.domain.requests import SearchRequest
        from pincite.runtime.limiter import LANES
        from pincite.search.intent import RetrievalContext
        from pincite.search.spending import capped

        cap = None
        if isinstance(query, SearchRequest):
            lane, context, cap = (
                lane or query.lane,
                query.confidence if context is None else context,
                query.cost_cap(),
            )
            query = query.asked()
        if lane is not None and lane not in LANES:
            raise InvalidInput(f"there is no lane {lane!r}", hint=f"Known: {', '.join(LANES)}.")
        if isinstance(context, int | float):
            context = RetrievalContext(context)
        if context is not None and not 0 <= context.confidence <= 1:
            raise InvalidInput(f"a confidence is 0 to 1, not {context.confidence}", reason="confidence")
        asked = Query(query) if isinstance(query, str) else query
        with self._parts.log.noted("search", to_json(asked)) as note:
            search = await self._parts.search()
            found = await search.search(
                asked,
                priority=lane_of(self.settings) if lane is None else LANES[lane],
                spending=capped(spending or self._parts.account, cap),
                context=context,
            )
            note.cost_usd = found.info.cost_usd
            note.outcome = _outcome(found.info.cache)
        return found

    async def explain_search(self, query: str | Query) -> tuple[str, ...]:
        """The order in which the engines would be asked now and why, one line each. Calls nothing."""
        search = await self._parts.search()
        return await search.explain(Query(query) if isinstance(query, str) else query)

    async def fetch(self, request: str | FetchRequest, *, spending: Spending | None = None) -> FetchResult:
        """One page, vetted, read and stored. `spending`: whose money it is, when not this engine's.

        Errors: Every policy and remote error of docs/errors.md.
        """
        asked = FetchRequest(request) if isinstance(request, str) else request
        with self._parts.log.noted("fetch", {"url": asked.url}) as note:
            account, price = spending or self._parts.account, scrape_usd(self.settings)
            page = await paid_for(asked, await self._parts.fetch(), account, price)
            note.outcome = _outcome(page.info.cache)
            return await self._finished_page(asked, page, note, spending)

    async def parse(
        self, data: bytes, *, name: str = "", content_type: str = "", request: FetchRequest = WHOLE
    ) -> FetchResult:
        """A file that you have at hand, read as a page is: the same extractors, in the same sandbox, stored the same.

        Args:
            data: the file: HTML, PDF, an office document, mail, text, ...
            name: what it is called; its suffix tells the kind where nothing else does.
            content_type: what it is, if you know.
            request: which window of it, and how it is written; its URL is not looked at.

        Errors: InvalidInput (`file_empty`), TooLarge, UnsupportedContentType, ParseError, EmptyContent.
        """
        with self._parts.log.noted("parse", {"name": name, "size_bytes": len(data)}) as note:
            page = await self._parts.given(data, request, name=name, content_type=content_type)
            return await self._finished_page(request, page, note)

    async def _finished_page(
        self, request: FetchRequest, page: FetchResult, note: Note, spending: Spending | None = None
    ) -> FetchResult:
        """The page, cut back to what may be stored; written as Markdown by a model where the request asks for it."""
        await self._parts.settle_page(page.snapshot)
        if request.markdown == "model":
            page = await self._parts.written_by_model(request, page, spending)
            note.tokens_in, note.tokens_out = page.info.tokens_in, page.info.tokens_out
            note.cost_usd = page.info.cost_usd
        return page

    async def audit(
        self,
        report: str | bytes,
        *,
        sources: Mapping[str, str] | None = None,
        strict: bool = False,
        spending: Spending | None = None,
    ) -> Audit:
        """A verdict on every sentence of anyone's report (Markdown, text, HTML, DOCX, or an answer's JSON).

        `sources` maps URLs to the text of their pages; without it they are fetched. A page that can't be had makes its
        sentences `could_not_check`; what is in other words than its page and nobody judges is `unchecked`. `strict`:
        partly supported sentences count as wrong. `spending`: whose money pages and judge cost, when not this engine's.

        Errors: InvalidInput (empty, too large, or no report).
        """
        from pincite.runtime.ledger import PassingLedger
        from pincite.wiring.fetching import Charged

        with self._parts.log.noted("audit", {"length": len(report), "sources": len(sources or ())}) as note:
            pages, ledger = Charged(self.fetch, spending), PassingLedger(self.settings.budget, spending)
            auditor = await self._parts.auditor(pages, await self._parts.judge(ledger))
            found = await auditor.audit(report, sources=sources, strict=strict)
            note.cost_usd = pages.cost_usd + (await ledger.spent()).cost_usd
        return found

    async def check_claim(self, claim: str, sources: Sequence[str]) -> Verdict:
        """The verdict on one claim against texts, as `pincite.check_claim` gives it.

        The judge of the settings decides on what is not in a source's own words; without one that is `unchecked`.

        Errors: InvalidSetting, ExtraNotInstalled (the judge).
        """
        from pincite.verification.claims import check_claim_with

        return await check_claim_with(claim, sources, await self._parts.judge(), at=self._parts.clock.now())

    async def judge(self, ledger: Ledger | None = None) -> Judge | None:
        """Who judges meaning under the settings, within their caps; None where nobody does.

        `ledger` says what was used, where that is asked for.

        Errors: InvalidSetting, ExtraNotInstalled.
        """
        return await self._parts.judge(ledger)

    async def recheck(self, report: Report | Json) -> Recheck:
        """The pages and quotes of a stored report as they are today; new captures are kept beside the old.

        Errors: InvalidInput (the JSON is not a report).
        """
        from pincite.audit.recheck import read_stored_report
        from pincite.domain.report import Report

        stored = report if isinstance(report, Report) else read_stored_report(report)
        return await self._parts.recheck(stored, self)


def _outcome(cache: str) -> str:
    """How a call is noted in the log, by the state of the cache."""
    return "ok" if cache in ASKED else "shared" if cache == "shared" else "cached"
