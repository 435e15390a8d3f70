"""Without their packages, models name all the extras that the settings need, at once."""

import anyio
import pytest

from pincite.domain.errors import ExtraNotInstalled
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.system import SystemClock
from pincite.settings import load_settings
from pincite.wiring import models

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}


@pytest.mark.parametrize(
    ("chosen", "extras"),
    [
        ({"PINCITE_LLM": "openai:small"}, "[llm]"),
        ({"PINCITE_LLM": "anthropic:small"}, "[llm,anthropic]"),
        ({"PINCITE_LLM": "google:small", "PINCITE_LLM_FALLBACKS": "anthropic:small"}, "[llm,anthropic,google]"),
    ],
)
async def test_the_extra_of_the_provider_is_named_with_that_of_all_models(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str], extras: str
) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    async with anyio.create_task_group() as tasks:
        settings = load_settings(environ=KEYS | chosen, files=[])
        with pytest.raises(ExtraNotInstalled) as caught:
            await models.open_models(settings, SystemClock(), ResourcePool(tasks))
    assert extras in caught.value.hint
