"""Chooses who does each role of a run: a model where one is set for it, rules everywhere else."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pincite.domain.frozen import dataclass
from pincite.domain.model import RESEARCH_ROLES, ModelRole
from pincite.domain.records import RunRecord
from pincite.domain.report import Mode
from pincite.ports import (
    Clock,
    DocumentStore,
    EventSink,
    Fetch,
    Judge,
    LanguageModel,
    Ledger,
    ModelCalls,
    Search,
    SnapshotStore,
)
from pincite.research.records import LibrarySurvey
from pincite.research.roles import Seconder
from pincite.research.service import Roles
from pincite.research.state import Limits
from pincite.settings import Settings
from pincite.wiring.fetching import scrape_usd
from pincite.wiring.models import recorded_calls

if TYPE_CHECKING:
    from pincite.ranking.ranker import PassageRanker
    from pincite.research.revalidation import Revalidation


@dataclass(frozen=True, slots=True)
class Run:
    """What one run reaches the outside through, where it keeps what it read, and what belongs to it alone.

    `keyless` says that only engines without a key are asked, which answer a query in seconds. `at` is the time it was
    begun, which judgements carry: the same when it is made again.
    """

    search: Search | None
    fetch: Fetch
    snapshots: SnapshotStore
    documents: DocumentStore
    ledger: Ledger
    events: EventSink
    clock: Clock
    limits: Limits
    survey: LibrarySurvey | None = None
    judge: Judge | None = None
    ranker: "PassageRanker | None" = None
    keyless: bool = False
    at: datetime | None = None

    def calls(self, settings: Settings, model: LanguageModel) -> ModelCalls:
        """The run's calls to a language model, on its record."""
        return recorded_calls(settings, model, self.ledger, self.events, self.clock, self.limits.budget)


def build_roles(settings: Settings, run: Run, model: LanguageModel | None, calls: ModelCalls | None = None) -> Roles:
    """The roles of one run; `calls` are the run's calls to the model, where somebody else makes some, too."""
    from pincite.research.extractive.analyst import ExtractiveAnalyst
    from pincite.research.extractive.planner import ExtractivePlanner
    from pincite.research.extractive.verifier import ExtractiveVerifier
    from pincite.research.extractive.writer import ExtractiveDrafter, ExtractiveWriter
    from pincite.research.reader import PageReader
    from pincite.research.searcher import QuerySearcher

    rules = Roles(
        planner=ExtractivePlanner(
            survey=run.survey,
            results_per_query=settings.results_per_query,
            words_only=run.ranker is not None and run.ranker.words_only,
            sparing=run.keyless,
        ),
        searcher=QuerySearcher(run.search, run.ledger, run.events, limits=run.limits),
        reader=PageReader(
            run.fetch,
            run.snapshots,
            run.documents,
            run.ledger,
            run.events,
            limits=run.limits,
            domain_quality=settings.domain_quality,
        ),
        analyst=ExtractiveAnalyst(run.ranker, max_domain_share=settings.max_domain_share),
        verifier=ExtractiveVerifier(run.judge, run.at or run.clock.now()),
        writer=ExtractiveWriter(),
        drafter=ExtractiveDrafter(run.events),
        revalidator=_revalidator(settings, run),
    )
    # After the roles that it uses: it searches and reads through this run's own.
    if run.limits.independent_share is not None:
        rules = replace(rules, seconder=_seconder(rules, run))
    modelled = frozenset(role for role in RESEARCH_ROLES if model is not None and model.info(role))
    if model is None or not modelled:
        return rules
    return _with_models(settings, rules, run, calls or run.calls(settings, model), modelled)


def _seconder(rules: Roles, run: Run) -> Seconder:
    """Looks for second sources, where the settings want a share of the claims to have one."""
    from pincite.research.second_sources import SecondSources

    return SecondSources(
        rules.searcher,
        rules.reader,
        run.judge,
        run.events,
        limits=run.limits,
        ranker=run.ranker,
        at=run.at or run.clock.now(),
    )


def _revalidator(settings: Settings, run: Run) -> "Revalidation | None":
    """Asks for old pages again before writing, where the settings name an age."""
    if settings.revalidate_after_h is None:
        return None
    from pincite.research.revalidation import Revalidation

    return Revalidation(
        run.fetch,
        run.snapshots,
        run.documents,
        run.ledger,
        run.events,
        run.clock,
        run.judge,
        at=run.at or run.clock.now(),
        after=timedelta(hours=settings.revalidate_after_h),
        deadline_s=run.limits.fetch_deadline_s,
        concurrency=run.limits.concurrency,
    )


def limits_of(record: RunRecord, settings: Settings, *, over_web: bool) -> Limits:
    """The caps of a run. Where it searches the web, half of a cap on web requests is kept for pages."""
    requests = record.budget.web_requests
    return Limits(
        budget=record.budget,
        results_per_query=settings.results_per_query,
        pages_per_round=settings.pages_per_round,
        per_domain_cap=settings.per_domain_cap,
        queries_per_round=settings.queries_per_round,
        follow_ups_per_sub_question=settings.follow_ups_per_sub_question,
        keep_undated=settings.keep_undated,
        require_coverage=settings.require_coverage,
        independent_share=settings.independent_share,
        max_domain_share=settings.max_domain_share,
        search_deadline_s=settings.search_deadline_s + 5.0,  # the service ends first and says why
        fetch_deadline_s=settings.fetch_deadline_s,
        scrape_usd=scrape_usd(settings),
        search_requests=max(requests // 2, 1) if over_web and requests is not None else None,
    )


def _with_models(
    settings: Settings, rules: Roles, run: Run, calls: ModelCalls, modelled: frozenset[ModelRole]
) -> Roles:
    """The rules' roles with a model's beside them where one is set."""
    from pincite.research.extractive.verifier import ExtractiveVerifier
    from pincite.research.extractive.writer import ExtractiveDrafter
    from pincite.research.model.composer import Composer
    from pincite.research.model.evidence import EvidenceBank
    from pincite.research.model.fallback import (
        AnalystWithFallback,
        PlannerWithFallback,
        Replacements,
        ToldJudge,
        WriterWithFallback,
    )
    from pincite.research.model.manuscript import Manuscript
    from pincite.research.model.planner import ModelPlanner
    from pincite.research.model.sentences import SentenceProver
    from pincite.research.model.writer import ModelWriter

    replacements, manuscript = Replacements(run.events, allowed=settings.llm_extractive_fallback), Manuscript()
    at = run.at or run.clock.now()
    # Outermost, so that a judge who is replaced is named in the report whoever asked him.
    judge = None if run.judge is None else ToldJudge(run.judge, replacements)
    roles = rules
    if ModelRole.PLANNER in modelled:
        planner = ModelPlanner(
            calls,
            manuscript,
            results_per_query=settings.results_per_query,
            follow_ups=run.limits.follow_ups_per_sub_question,
        )
        roles = replace(roles, planner=PlannerWithFallback(planner, rules.planner, replacements, manuscript))
    if ModelRole.WRITER in modelled:
        composer = Composer(calls, manuscript, source_tokens=settings.llm_source_tokens)
        # Without the judge: what a model composed is judged sentence by sentence when it is written.
        quotes = ExtractiveVerifier(None, at)
        analyst = AnalystWithFallback(composer, rules.analyst, rules.verifier, quotes, replacements)
        roles = replace(roles, analyst=analyst, verifier=analyst)
    prover = SentenceProver(judge, EvidenceBank(), at)
    writer = ModelWriter(calls, manuscript, prover, run.events, lambda: replacements.gaps)
    whole = WriterWithFallback(
        writer if ModelRole.WRITER in modelled else None,
        rules.writer,
        replacements,
        run.events,
        ExtractiveDrafter(run.events),
        modelled=modelled,
    )
    # What was meant to be; roles that fell back are named beside it.
    mode = Mode.MODEL if modelled >= set(RESEARCH_ROLES) else Mode.MIXED
    return replace(roles, writer=whole, drafter=whole, mode=mode, tells_sections=True)
