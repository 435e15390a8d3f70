"""What a command that only fetches loads: nothing of checking, verifying or writing."""

import subprocess
import sys


def test_the_engine_loads_without_what_proves_and_audits() -> None:
    code = (
        "import sys, pincite.engine; heavy = ('pincite.verification', 'pincite.audit', 'trafilatura'); "
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
