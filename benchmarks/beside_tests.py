"""Makes the fakes of the tests importable: `import beside_tests`, then `from tests.fakes import ...`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
