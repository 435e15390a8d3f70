"""What one check says about one claim and one passage."""

from dataclasses import dataclass

from pincite.domain.evidence import Check, CheckOutcome


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a named check; `contradicts` when the passage says otherwise about the same thing.

    `weight` counts the things that failed (two numbers missing are worse than one).
    """

    name: str
    outcome: CheckOutcome
    detail: str = ""
    contradicts: bool = False
    weight: int = 0

    @property
    def failed(self) -> bool:
        """Whether the claim can't be called supported by this passage."""
        return self.outcome is CheckOutcome.FAILED

    def check(self) -> Check:
        """The finding as stored with the verdict."""
        return Check(self.name, self.outcome, self.detail)


def passed(name: str, detail: str = "") -> Finding:
    """The check ran and found nothing wrong."""
    return Finding(name, CheckOutcome.PASSED, detail)


def skipped(name: str, detail: str = "") -> Finding:
    """The claim has nothing that this check looks at."""
    return Finding(name, CheckOutcome.SKIPPED, detail)


def failed(name: str, details: list[str], *, contradicts: bool = False) -> Finding:
    """The check found the given things wrong."""
    return Finding(name, CheckOutcome.FAILED, "; ".join(dict.fromkeys(details)), contradicts, len(details))
