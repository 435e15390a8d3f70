"""Who may use a server: API keys as they are stored, never the keys themselves."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as it is stored, by its SHA-256. `scope` owns the runs and private pages made with it.

    `rate_per_min` is how many requests it may make in a minute, `daily_usd` what it may spend in a day (UTC);
    None sets no limit. Names are unique among all keys of a server. Times are text in UTC.
    """

    name: str
    scope: str
    sha256: str
    created_at: str
    revoked_at: str | None = None
    rate_per_min: int | None = None
    daily_usd: str | None = None

    @property
    def daily_cap_usd(self) -> Decimal | None:
        """What the key may spend in a day."""
        return None if self.daily_usd is None else Decimal(self.daily_usd)
