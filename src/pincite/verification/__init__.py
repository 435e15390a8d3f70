"""Does a passage carry a claim? Mechanical checks with readable reasons; no input or output, no model.

`checker.check_claim` is the entrance. Each check is a file of its own named after what it looks at.
"""

from pincite.verification.checker import check_claim

__all__ = ["check_claim"]
