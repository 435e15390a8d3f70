"""Who writes and who judges for an engine: its language models and judges, each opened once, over the caps of a run."""

# Read by type checkers alone, or where a run or a judge needs it: who fetches a page loads nothing of research.
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from pincite.runtime.concurrency import ResourcePool
from pincite.settings import Settings
from pincite.wiring.models import NullSink, model_not_set, open_models, recorded_calls, recorded_models, wants_models
from pincite.wiring.stores import OpenStores, Shared

if TYPE_CHECKING:
    from pincite.domain.budget import Budget
    from pincite.domain.events import Json
    from pincite.domain.records import RunRecord
    from pincite.ports import Judge, LanguageModel, Ledger, ModelCalls
    from pincite.runtime.lease import Lease
    from pincite.wiring.judging import Judges


class OpenModels(OpenStores):
    """The models and judges of an engine, beside what it keeps things in.

    Args:
        kept: what they are closed with.
        model: language models to use instead of those of the settings.
        judge: a judge to use instead of that of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        shared: Shared,
        stores: ResourcePool,
        kept: ResourcePool,
        model: LanguageModel | None = None,
        judge: Judge | None = None,
    ) -> None:
        super().__init__(settings, shared, stores)
        self._kept = kept
        self._given_model = model
        self._models: dict[tuple[object, ...], LanguageModel] = {}
        self._given_judge = judge
        self._opening_models = anyio.Lock()

    @cached_property
    def _judges(self) -> Judges:
        from pincite.wiring.judging import Judges

        return Judges(self._kept, self.clock, self.models, self._models_of, self._given_judge)

    async def models(self, settings: Settings) -> LanguageModel | None:
        """The language models of these settings, or the one given to the engine; None in extractive mode.

        Errors: InvalidSetting (a name, key or price is missing), ExtraNotInstalled.
        """
        return self._given_model or await self._models_of(settings)

    async def judge(self, ledger: Ledger | None = None, calls: ModelCalls | None = None) -> Judge | None:
        """Who judges what belongs to no report, within the caps of the settings; None where nobody does.

        `ledger` says what was used, where that is asked for; through `calls` the models of the settings judge, where
        they have some already.

        Errors: InvalidSetting (`no_judge`, or a model's), ExtraNotInstalled.
        """
        from pincite.runtime.ledger import PassingLedger
        from pincite.wiring.judging import judge_of

        asked = await self._judges.parts(self.settings)
        ledger = ledger or PassingLedger(self.settings.budget)
        if calls is None and any(part.judge is None and part.model is None for part in asked):
            calls = await self.calls(ledger)
        return judge_of(asked, calls, lambda model: self._calls_on(model, ledger), None)

    async def judge_record(self, settings: Settings) -> list[Json]:
        """Who judges a run with these settings, for its record. Errors: as `judge`."""
        return [part.record for part in await self._judges.parts(settings)]

    async def _models_of(self, settings: Settings) -> LanguageModel | None:
        if not wants_models(settings):
            return None
        # What a request may change of the models; everything else about them is the engine's own.
        key = (settings.llm, tuple(sorted(settings.llm_roles.items())), settings.llm_fallbacks)
        async with self._opening_models:
            if key not in self._models:
                self._models[key] = await open_models(settings, self.clock, self._kept)
            return self._models[key]

    async def calls(self, ledger: Ledger | None = None) -> ModelCalls | None:
        """Models for what belongs to no run, within the caps of the settings; None in extractive mode.

        `ledger` says what was used, where that is asked for.
        """
        model = await self.models(self.settings)
        return None if model is None else self._calls_on(model, ledger)

    async def recorded_calls(self, record: RunRecord, lease: Lease | None) -> tuple[ModelCalls, Judge | None]:
        """Models and a judge whose calls are on the record of a run: owned under this lease, or answered from it alone.

        From the record both are those that the run had; where it had no model, those of the settings.

        Errors: InvalidInput (no model is set), and those of the judge's settings.
        """
        from pincite.wiring.judging import judge_of, parts_on_record

        storage = await self._storage()
        had = recorded_models(record.inputs.get("models")) if lease is None else None
        model = had or await self.models(self.settings)
        if model is None:
            raise model_not_set("this")
        ledger: Ledger
        ledger = await storage.replay(record.run_id) if lease is None else await storage.ledger(record, lease)
        judges = parts_on_record(record.inputs.get("judge")) if had else await self._judges.parts(self.settings)
        calls = self._calls_on(model, ledger, record.budget)
        return calls, judge_of(judges, calls, lambda other: self._calls_on(other, ledger, record.budget), ledger)

    def _calls_on(self, model: LanguageModel, ledger: Ledger | None, budget: Budget | None = None) -> ModelCalls:
        from pincite.runtime.ledger import PassingLedger

        budget = budget or self.settings.budget
        return recorded_calls(self.settings, model, ledger or PassingLedger(budget), NullSink(), self.clock, budget)
