"""Fakes of the search engines' APIs, in the exact shapes and errors of their contracts, for loopback or in process."""

from tests.fakes.engines.fakes import FakeEngines
from tests.fakes.engines.pages import FakePage
from tests.fakes.engines.server import EngineServer
from tests.fakes.engines.transport import EngineTransport
from tests.fakes.engines.troubles import Reply

__all__ = ["EngineServer", "EngineTransport", "FakeEngines", "FakePage", "Reply"]
