"""Models that lie or obey, and servers that put a model behind the protocols of three vendors on loopback."""

from tests.fakes.models.anthropic_server import AnthropicServer
from tests.fakes.models.google_server import GoogleServer
from tests.fakes.models.lying import DEFECTS, LyingModel, Planted, leaks
from tests.fakes.models.obedient import ObedientModel
from tests.fakes.models.paraphrasing import (
    LABELLED,
    OPEN_LIES,
    LabelledStatement,
    OpenLiar,
    ParaphrasingModel,
)
from tests.fakes.models.server import ModelServer, Trouble

__all__ = [
    "DEFECTS",
    "LABELLED",
    "OPEN_LIES",
    "AnthropicServer",
    "GoogleServer",
    "LabelledStatement",
    "LyingModel",
    "ModelServer",
    "ObedientModel",
    "OpenLiar",
    "ParaphrasingModel",
    "Planted",
    "Trouble",
    "leaks",
]
