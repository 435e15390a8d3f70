"""What a front door says of a failure holds no secret of the settings, whatever a library put into its message."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from pincite.domain.errors import PinciteError


@cache
def _mask() -> Callable[[str], str]:
    from pincite.wiring.observing import mask_of_environment

    return mask_of_environment()


def masked(value: Any) -> Any:  # plain JSON
    """The value with every secret of the settings in it, and what looks like one in its URLs, replaced."""
    from pincite.runtime.telemetry.logs import masked as masked_by

    return masked_by(value, _mask())


def masked_error(error: PinciteError) -> PinciteError:
    """The error with its texts masked."""
    told = copy.copy(error)
    told.message, told.hint = masked(error.message), masked(error.hint)
    told.context = masked(error.context)
    return told
