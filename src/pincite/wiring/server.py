"""What a server needs of an engine: API keys and their budgets, its memory of requests, webhooks."""

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, StorageUnavailable
from pincite.domain.records import ApiKey, Webhook
from pincite.ports import Clock, KeyStore
from pincite.runtime.concurrency import ResourcePool
from pincite.runtime.system import replace_file
from pincite.settings import Settings
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import PORTS, vet_parsed

if TYPE_CHECKING:
    from pincite.fetch.client import GuardedClient
    from pincite.runtime.limiter import Ask, Buckets
    from pincite.storage.database import Database
    from pincite.storage.home_files import FileKeys
    from pincite.storage.server import SqlServerMemory


# So long a webhook that was picked up is nobody else's: longer than one try may take.
HOLD_S: Final = 60.0


class ServerServices:
    """Made by `Parts.server_services` for one scope."""

    def __init__(
        self,
        memory: "SqlServerMemory",
        hooks: "WebhookSender",
        database: "Database",
        clock: Clock,
        buckets: "Buckets | None",
    ) -> None:
        self.memory = memory
        self.hooks = hooks
        self._database = database
        self._clock = clock
        self._buckets = buckets

    async def add_webhook(self, run_id: str, url: str) -> None:
        """Have `url` told when the run has ended; it was vetted before."""
        await self.memory.add_webhook(f"msg_{token_hex(16)}", run_id, url)

    async def due_webhooks(self, limit: int = 20) -> Sequence[Webhook]:
        """Webhooks of every scope whose run has ended and whose time has come, held for a while."""
        from pincite.storage.server import due_webhooks

        return await due_webhooks(self._database, self._clock, limit, HOLD_S)

    async def take_turn(self, key_name: str, asked: "Ask") -> float:
        """0 when a request of an API key is counted at all servers together, else the seconds it has to wait.

        Errors: StorageUnavailable, StorageFull, Locked.
        """
        return 0.0 if self._buckets is None else await self._buckets.take(f"key:{key_name}", (asked,))

    def account(self, key_name: str, cap_usd: Decimal) -> "DailyBudget":
        """What an API key may spend today."""
        return DailyBudget(self.memory, self._clock, key_name, cap_usd)


class DailyBudget:
    """Implements `search.spending.Spending` over what an API key may spend in a day (UTC).

    What is set aside is on disk before anything is called, so that a key's requests at several servers that share a
    database, and a server that is killed, never spend more. What a killed server had set aside is lost until midnight.
    """

    def __init__(self, memory: "SqlServerMemory", clock: Clock, key_name: str, cap_usd: Decimal) -> None:
        self._memory = memory
        self._clock = clock
        self._key_name = key_name
        self._cap_usd = cap_usd
        # The day it was opened on: what is given back after midnight belongs to the day it was taken from.
        self._day = f"{clock.now():%Y-%m-%d}"

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted (`daily_usd`)."""
        if estimate.cost_usd and not await self._take(estimate.cost_usd):
            raise self._exhausted()

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Give back what was not spent."""
        left = estimate.cost_usd - actual.cost_usd
        if left:
            await self._memory.give_back(self._key_name, self._day, left)

    def caps_money(self) -> bool:
        """Always: that is what it is for."""
        return True

    async def reserve_for_run(self, wanted: Decimal | None) -> Decimal:
        """The cap on the dollars of a new run: what it wants or a quarter of the day's, as far as there is so much.

        Errors: BudgetExhausted (`daily_usd`: nothing is left).
        """
        left = self._cap_usd - await self._memory.taken(self._key_name, self._day)
        if self._cap_usd > 0 >= left:
            raise self._exhausted()
        # A quarter: a run without a cap of its own must not take the whole day from those that come after it.
        amount = min(left, self._cap_usd / 4 if wanted is None else wanted)
        if amount > 0 and not await self._take(amount):
            raise self._exhausted()
        return max(amount, Decimal(0))

    async def give_back(self, amount: Decimal) -> None:
        """Put back what a run was given and did not spend."""
        if amount:
            await self._memory.give_back(self._key_name, self._day, amount)

    async def charge(self, amount: Decimal) -> None:
        """Count what was spent within caps of its own, even where it is more than was left of the day."""
        if amount:
            taken = await self._memory.taken(self._key_name, self._day)
            await self._memory.take(self._key_name, self._day, amount, max(self._cap_usd, taken) + amount)

    async def _take(self, amount: Decimal) -> bool:
        return await self._memory.take(self._key_name, self._day, amount, self._cap_usd)

    def _exhausted(self) -> BudgetExhausted:
        now = self._clock.now()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return BudgetExhausted(
            f"the key {self._key_name!r} may spend ${self._cap_usd} a day, and has",
            reason="daily_usd",
            hint="Its budget is whole again at midnight UTC; the operator can make a key with a larger one.",
            retry_after_s=(midnight - now).total_seconds(),
        )


KEY_NAME: Final = "webhook.key"
# The receiver's status counts; what it writes is not looked at, only bounded.
MAX_ANSWER_BYTES: Final = 65_536

log = logging.getLogger(__name__)


class WebhookSender:
    """Sends signed messages to addresses that callers named.

    Source: Standard Webhooks, specification 1.0.0.
    """

    def __init__(self, client: "GuardedClient", policy: UrlPolicy, master: bytes) -> None:
        self._client = client
        self._policy = policy
        self._master = master

    def vetted(self, url: str) -> ParsedUrl:
        """The address to send to. Errors: InvalidUrl, BlockedAddress."""
        return vet_parsed(url, policy=self._policy)

    def secret(self, scope: str) -> str:
        """What the receiver of a scope checks signatures with (`whsec_...`)."""
        return f"whsec_{base64.b64encode(self._key(scope)).decode()}"

    async def send(self, scope: str, url: str, delivery_id: str, at_s: int, body: bytes) -> int:
        """The status of the answer to one signed message. Errors: as a fetch of the URL."""
        # Id and time are signed too: a message that is caught can't be sent again as another.
        signed = f"{delivery_id}.{at_s}.".encode() + body
        signature = base64.b64encode(hmac.new(self._key(scope), signed, hashlib.sha256).digest()).decode()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": delivery_id,
            "webhook-timestamp": str(at_s),
            "webhook-signature": f"v1,{signature}",
        }
        answer = await self._client.post(self.vetted(url), body, headers=headers, max_bytes=MAX_ANSWER_BYTES)
        return answer.status

    def _key(self, scope: str) -> bytes:
        # A key for each scope out of one secret: nothing to store, and no user can sign for another.
        return hmac.new(self._master, f"webhook:{scope}".encode(), hashlib.sha256).digest()


async def build_webhooks(settings: Settings, clock: Clock, kept: ResourcePool, database: "Database") -> WebhookSender:
    """The sender of webhooks under these settings. Errors: as `master_key`."""
    from pincite.fetch.client import GuardedClient
    from pincite.fetch.resolver import SystemResolver, VettedResolver, own_public_addresses, parse_resolve

    # Callers name the address: the server's own public one would be a way to its inside.
    addresses = AddressPolicy(allow_networks=settings.allow_networks, deny_networks=own_public_addresses())
    policy = UrlPolicy(addresses=addresses, ports=PORTS | frozenset(settings.allow_ports))
    resolver = VettedResolver(SystemResolver(), policy, clock, parse_resolve(settings.resolve))
    client: GuardedClient = await kept.open(GuardedClient(policy, resolver, clock))
    return WebhookSender(client, policy, await master_key(settings, clock, database))


async def master_key(settings: Settings, clock: Clock, database: "Database") -> bytes:
    """What the signing keys of all scopes are made from.

    It is the setting; else, where many machines use one database, a secret kept there, so that all servers sign alike
    (that of the first home that has a `webhook.key`); else a file of the home, made once.

    Errors: StorageUnavailable (`webhook_key`: the file can't be kept), StorageFull, Locked.
    """
    if settings.webhook_secret is not None:
        return settings.webhook_secret.get_secret_value().encode()
    return await home_secret(KEY_NAME, settings, clock, database)


async def home_secret(name: str, settings: Settings, clock: Clock, database: "Database") -> bytes:
    """A secret in a file of the home, made once; where many machines use one database, the one that is kept there.

    Errors: StorageUnavailable (the file can't be kept), StorageFull, Locked.
    """
    path: Path = settings.home / name
    if not database.is_shared:
        return await anyio.to_thread.run_sync(_home_key, path)
    from pincite.storage.server import common_secret

    own = await anyio.to_thread.run_sync(_read, path)
    common = await common_secret(database, clock, name, own or _new_key())
    if own not in (None, common):
        log.warning("%s is not used: the servers of this database sign with the key they share", path)
    return common.encode()


def _home_key(path: Path) -> bytes:
    from pincite.storage.home_files import one_at_a_time

    if (found := _read(path)) is not None:
        return found.encode()
    with one_at_a_time(path):  # two servers that start on one home must not make two
        if (found := _read(path)) is not None:
            return found.encode()
        made = _new_key()
        try:
            replace_file(path, made, private=True)
        except OSError as error:
            raise _not_kept(path, error) from error
    return made.encode()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _not_kept(path, error) from error


def _new_key() -> str:
    return secrets.token_urlsafe(32)


def _not_kept(path: Path, error: Exception) -> StorageUnavailable:
    return StorageUnavailable(f"{path} can't be kept: {error}", reason=path.name.replace(".", "_"))


def home_keys(home: Path) -> "FileKeys":
    """The keys in the file of a home."""
    from pincite.storage.home_files import FileKeys

    return FileKeys(home)


@contextmanager
def opened_keys(settings: Settings) -> Iterator[KeyStore]:
    """The keys that count with these settings. Blocking.

    With a PostgreSQL the keys of the home's file, if there are any, are taken over once; the file is put away then.

    Errors: StorageUnavailable, SchemaMismatch, Locked, InvalidSetting, ExtraNotInstalled.
    """
    near = home_keys(settings.home)
    place = settings.shared_database
    if place is None:
        yield near
        return
    from pincite.runtime.system import SystemClock
    from pincite.storage.database import opened_now
    from pincite.storage.server import SqlKeys

    with opened_now(place, SystemClock()) as database:
        keys = SqlKeys(database)
        found: tuple[ApiKey, ...] = near.read()
        if found:
            # Taken over before the file is put away: a crash in between does it twice, which changes nothing.
            keys.take_over(found)
            near.mark_moved()
        yield keys
