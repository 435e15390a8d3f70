"""Does a passage carry a claim? Mechanical checks with readable reasons; no input or output, no model.

`proof.prove` decides for research, audit and check; `claims.check_claim` is the same for texts at hand.
"""

from pincite.verification.claims import check_claim

__all__ = ["check_claim"]
