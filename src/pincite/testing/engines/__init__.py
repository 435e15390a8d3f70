"""Fakes of the search engines' APIs, in the exact shapes and errors of their contracts, for loopback or in process."""

from pincite.testing.engines.fakes import FakeEngines
from pincite.testing.engines.pages import FakePage
from pincite.testing.engines.server import EngineServer
from pincite.testing.engines.transport import EngineTransport
from pincite.testing.engines.troubles import Reply

__all__ = ["EngineServer", "EngineTransport", "FakeEngines", "FakePage", "Reply"]
