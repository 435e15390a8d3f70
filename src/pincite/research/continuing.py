"""A run that goes on from another: the pages read there are at hand, the claims that held are candidates again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import QuoteMismatch
from pincite.domain.events import Json
from pincite.domain.evidence import Claim, Evidence, Relation, Verdict, VerifiedClaim
from pincite.domain.ids import claim_id
from pincite.domain.page import Document
from pincite.domain.plan import Analysis, Progress, ReadPage, SubQuestion, Task
from pincite.domain.quotes import QuoteRecord
from pincite.domain.records import Outcome
from pincite.domain.report import Report, ReportClaim
from pincite.ports import DocumentStore, Ledger, RunStore, SnapshotStore
from pincite.research.roles import Analyst
from pincite.research.state import source_key
from pincite.text.tokens import terms

# They are put before the models with the new ones, as candidates: more would crowd those out.
MAX_CLAIMS: Final = 40
# Share of a part's words that an earlier claim must have to be told again.
_SHARED: Final = 0.34


class Earlier:
    """What an earlier run left to build on."""

    def __init__(self, pages: Sequence[ReadPage], claims: Sequence[ReportClaim]) -> None:
        self.pages = tuple(pages)
        self.claims = tuple(claims)

    @property
    def progress(self) -> Progress:
        """Where the new run starts: these pages are read and are not asked for again."""
        return Progress(pages=self.pages, requested=tuple(source_key(page.url) for page in self.pages))


async def earlier_run(
    run_id: str, runs: RunStore, snapshots: SnapshotStore, documents: DocumentStore, ledger: Ledger
) -> Earlier:
    """Pages and claims of the newest report of a run. They go on the record of the new run, and its captures stay.

    Errors: RunNotFound (there is no such run).
    """

    async def do() -> Outcome:
        await runs.get(run_id)
        report = await runs.get_report(run_id)
        return Outcome(_record(report))

    record = await ledger.call("continue", {"run": run_id}, Usage(), do)
    told = record if isinstance(record, dict) else {}
    pages: list[ReadPage] = []
    for row in _rows(told.get("pages")):
        snapshot = await snapshots.get(str(row.get("snapshot_id")))
        document = await documents.get(str(row.get("document_id")))
        if snapshot is not None and document is not None:
            pages.append(ReadPage(str(row.get("url")), snapshot, document))
    return Earlier(pages, [from_json(ReportClaim, row) for row in _rows(told.get("claims"))])


def _rows(value: Json) -> list[dict[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _record(report: Report | None) -> Json:
    if report is None:
        return {"pages": [], "claims": []}
    pages: dict[str, Json] = {}
    for evidence in (evidence for claim in report.claims for evidence in claim.evidence):
        pages.setdefault(
            evidence.url,
            {"url": evidence.url, "snapshot_id": evidence.snapshot_id, "document_id": evidence.document_id},
        )
    return {"pages": list(pages.values()), "claims": [to_json(claim) for claim in report.claims[:MAX_CLAIMS]]}


class ContinuingAnalyst:
    """Implements `roles.Analyst`: adds claims of the earlier run that speak of the part; they are verified anew."""

    def __init__(self, analyst: Analyst, earlier: Earlier) -> None:
        self._analyst = analyst
        self._earlier = earlier

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """The analyst's claims, then those of the earlier run."""
        found = await self._analyst.analyse(task, sub_question, progress)
        wanted = set(terms(sub_question.text))
        said = {" ".join(terms(claim.text)) for claim in found.claims}
        documents = {page.document.document_id: page.document for page in progress.pages}
        more = [
            claim
            for told in self._earlier.claims
            if " ".join(terms(told.text)) not in said
            and len(wanted & set(terms(told.text))) >= max(_SHARED * len(wanted), 1)
            and (claim := _claim(told, sub_question.text, documents)) is not None
        ]
        if not more:
            return found
        # Where the analyst found nothing, the part is open only for want of new claims: the earlier ones fill it.
        gaps = () if not found.claims else found.gaps
        return replace(found, claims=(*found.claims, *more), gaps=gaps)


def verified_claims(report: Report, documents: Mapping[str, Document]) -> dict[str, VerifiedClaim]:
    """The claims of a report in the order they are told, with quotes sliced anew, by short ids."""
    by_id = {claim.id: claim for claim in report.claims}
    # In the order they are printed, each once.
    told = dict.fromkeys(name for sentence in report.sentences() for name in sentence.claim_ids)
    found: dict[str, VerifiedClaim] = {}
    for name in told:
        claim = _claim(by_id[name], report.question, documents)
        if claim is not None:
            verdict = Verdict(by_id[name].verdict)
            found[f"c{len(found) + 1}"] = VerifiedClaim(claim, verdict, by_id[name].independent_sources)
    return found


def _claim(told: ReportClaim, sub_question: str, documents: Mapping[str, Document]) -> Claim | None:
    """The claim with quotes sliced from the stored documents; None when one of them is not there any more."""
    evidence: list[Evidence] = []
    for item in told.evidence:
        document = documents.get(item.document_id)
        if document is None or item.relation is not Relation.SUPPORTS:
            continue
        stored = QuoteRecord(item.document_id, item.start, item.end, item.quote, item.prefix, item.suffix)
        try:
            quote = document.verify(stored)
        except QuoteMismatch:
            return None
        evidence.append(
            Evidence(
                quote,
                item.snapshot_id,
                item.body_sha256,
                item.url,
                fragment_url=item.fragment_url,
                context=item.context,
            )
        )
    if not evidence:
        return None
    return Claim(
        claim_id(told.text, sub_question), told.text, sub_question, told.type, told.confidence, tuple(evidence)
    )
