"""Language models that are no models: scripted, faithful, lying and obedient ones, and a server that speaks for them.

All of them see what a real model sees, the two messages of a prompt, and answer in text. `server` puts any of them
behind the OpenAI protocol on loopback, `anthropic_server` and `google_server` behind those of the other two.
"""

from pincite.testing.models.anthropic_server import AnthropicServer
from pincite.testing.models.fakes import FaithfulModel, ModelFake, ScriptedModel
from pincite.testing.models.google_server import GoogleServer
from pincite.testing.models.lying import DEFECTS, LyingModel, Planted, leaks
from pincite.testing.models.obedient import ObedientModel
from pincite.testing.models.paraphrasing import (
    LABELLED,
    OPEN_LIES,
    LabelledStatement,
    OpenLiar,
    ParaphrasingModel,
)
from pincite.testing.models.seen import Seen, seen_messages
from pincite.testing.models.server import ModelServer, Trouble

__all__ = [
    "DEFECTS",
    "LABELLED",
    "OPEN_LIES",
    "AnthropicServer",
    "FaithfulModel",
    "GoogleServer",
    "LabelledStatement",
    "LyingModel",
    "ModelFake",
    "ModelServer",
    "ObedientModel",
    "OpenLiar",
    "ParaphrasingModel",
    "Planted",
    "ScriptedModel",
    "Seen",
    "Trouble",
    "leaks",
    "seen_messages",
]
