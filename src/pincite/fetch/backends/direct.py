"""The page straight from its host, with the whole policy at every hop."""

import math
from dataclasses import dataclass, field

import anyio

from pincite.domain.errors import Timeout
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Snapshot
from pincite.fetch.captures import capture
from pincite.fetch.client import NOTE, GuardedClient, Visit, visit
from pincite.fetch.limits import FetchLimits
from pincite.fetch.page_failures import failure_of
from pincite.fetch.politeness import HostTurns, retried
from pincite.fetch.robots_gate import Admission, RobotsGate
from pincite.ports import Clock
from pincite.urls.parse import ParsedUrl


@dataclass(slots=True)
class _Job:
    """One fetch and what it met on the way. The clock stands still while it waits for the host's turn."""

    request: FetchRequest
    scope: anyio.CancelScope
    admissions: list[Admission] = field(default_factory=list)

    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self.scope.deadline - anyio.current_time()


class DirectBackend:
    """Implements `ports.FetchBackend` over a `GuardedClient`."""

    name = "direct"

    def __init__(
        self, client: GuardedClient, gate: RobotsGate, turns: HostTurns, clock: Clock, *, limits: FetchLimits
    ) -> None:
        self._client = client
        self._gate = gate
        self._turns = turns
        self._clock = clock
        self._limits = limits

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The page at the end of the redirects; failures that may pass were tried again.

        The deadline covers DNS, robots.txt, redirects, retries and the body, not the wait for the host's turn.

        Errors: the policy errors of `RobotsGate.admit` for any hop, the remote errors of `GuardedClient.get` and
            `client.visit`, those of `failure_of` for answers that aren't the page, and Timeout `deadline_total`.
        """
        try:
            with anyio.fail_after(self._limits.deadline(request.deadline_s)) as scope:
                job = _Job(request, scope)
                url = await self._admit(job, request.url)
                left_s, scope.deadline = job.left_s(), math.inf
                async with self._turns.turn(url.host, job.admissions[-1].delay_s):
                    scope.deadline = anyio.current_time() + left_s
                    if request.confirms:  # whoever asks for that counts the attempts
                        return await self._once(job, url)
                    return await retried(lambda: self._once(job, url), self._clock, job.left_s)
        except TimeoutError:
            raise Timeout("the page took longer than its deadline", reason="deadline_total", retryable=False) from None

    async def _admit(self, job: _Job, url: str) -> ParsedUrl:
        admission = await self._gate.admit(url, job.request)
        # A hop to another host waits for that host as well; one on the same host goes on within its turn.
        if job.admissions and job.admissions[-1].url.host != admission.url.host:
            await self._turns.wait(admission.url.host, admission.delay_s)
        job.admissions.append(admission)
        return admission.url

    async def _once(self, job: _Job, start: ParsedUrl) -> Snapshot:
        request = job.request
        # A further try begins at the start, and asks again for every hop after it.
        del job.admissions[1:]
        language = {"Accept-Language": request.prefer_language} if request.prefer_language else {}
        seen = await visit(
            self._client,
            start,
            lambda url: self._admit(job, url),
            redirects_max=self._limits.redirects_max if request.allow_redirects else 0,
            headers={**dict(request.validators), **language},
            of_pages=True,
        )
        snapshot = self._capture(job, seen)
        if (failure := failure_of(snapshot)) is not None:
            raise failure
        return snapshot

    def _capture(self, job: _Job, seen: Visit) -> Snapshot:
        admission = job.admissions[-1]
        return capture(
            url=job.request.url,
            final_url=seen.final.sent,
            status=seen.exchange.status,
            headers=seen.exchange.headers,
            body=seen.exchange.body,
            fetched_at=self._clock.now(),
            via=self.name,
            robots=admission.robots,
            signals=admission.signals,
            redirects=seen.redirects,
            note=NOTE if self._client.has_session(seen.final) else "",
        )
