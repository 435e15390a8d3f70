"""What a command says beside its result holds no secret: errors, tracebacks, warnings of other libraries."""

import logging
import traceback

from pincite.surfaces.secrecy import masked


def traceback_of(error: BaseException) -> str:
    """The trace of a defect, without secrets."""
    return str(masked("".join(traceback.format_exception(error)))).rstrip()


class _Masking(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The line, with its traceback."""
        return str(masked(super().format(record)))


def guard_logs() -> None:
    """Mask what libraries say in a process that has no logs of its own: Python prints their warnings then."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Masking())
