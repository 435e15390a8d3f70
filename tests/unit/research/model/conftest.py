"""A small run and a way to ask it."""

from typing import Any

import pytest
from tests.unit.research.model.small_run import QUESTION, Ask, Small

from pincite.domain.events import Event
from pincite.domain.report import Report
from pincite.ports import LanguageModel


@pytest.fixture
def small() -> Small:
    return Small()


@pytest.fixture
def ask(small: Small) -> Ask:
    """A report by the model; `events` collects what was told."""

    async def run(
        model: LanguageModel, question: str = QUESTION, events: list[Event] | None = None, **settings: Any
    ) -> Report:
        try:
            return await small.run(model, question, **settings)
        finally:
            if events is not None:
                events += small.events.events

    return run
