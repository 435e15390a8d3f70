"""Builds what sends webhooks: the client of the fetch front door, with its vetting of addresses, and a signature."""

import base64
import hashlib
import hmac
import logging
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import StorageUnavailable
from pincite.ports import Clock
from pincite.runtime.kept_open import KeptOpen
from pincite.settings import Settings
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import PORTS, vet_parsed

if TYPE_CHECKING:
    from pincite.fetch.client import GuardedClient
    from pincite.storage.database import Database

KEY_NAME: Final = "webhook.key"
MAX_ANSWER_BYTES: Final = 65_536

log = logging.getLogger(__name__)


class WebhookDoor:
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
        return hmac.new(self._master, f"webhook:{scope}".encode(), hashlib.sha256).digest()


async def build_webhooks(settings: Settings, clock: Clock, kept: KeptOpen, database: "Database") -> WebhookDoor:
    """The sender of webhooks under these settings. Errors: as `master_key`."""
    from pincite.fetch.client import GuardedClient
    from pincite.fetch.own_addresses import own_public_addresses
    from pincite.fetch.resolver import SystemResolver, VettedResolver, parse_resolve

    addresses = AddressPolicy(allow_networks=settings.allow_networks, deny_networks=own_public_addresses())
    policy = UrlPolicy(addresses=addresses, ports=PORTS | frozenset(settings.allow_ports))
    resolver = VettedResolver(SystemResolver(), policy, clock, parse_resolve(settings.resolve))
    client: GuardedClient = await kept.open(GuardedClient(policy, resolver, clock))
    return WebhookDoor(client, policy, await master_key(settings, clock, database))


async def master_key(settings: Settings, clock: Clock, database: "Database") -> bytes:
    """What the signing keys of all scopes are made from.

    It is the setting; else, where many machines use one database, a secret kept there, so that all servers sign alike
    (that of the first home that has a `webhook.key`); else a file of the home, made once.

    Errors: StorageUnavailable (`webhook_key`: the file can't be kept), StorageFull, Locked.
    """
    if settings.webhook_secret is not None:
        return settings.webhook_secret.get_secret_value().encode()
    path: Path = settings.home / KEY_NAME
    if not database.is_shared:
        return await anyio.to_thread.run_sync(_home_key, path)
    from pincite.storage.server_secrets import common_secret

    own = await anyio.to_thread.run_sync(_read, path)
    common = await common_secret(database, clock, KEY_NAME, own or _new_key())
    if own not in (None, common):
        log.warning("%s is not used: the servers of this database sign with the key they share", path)
    return common.encode()


def _home_key(path: Path) -> bytes:
    from pincite.storage.file_lock import one_at_a_time

    if (found := _read(path)) is not None:
        return found.encode()
    with one_at_a_time(path):  # two servers that start on one home must not make two
        if (found := _read(path)) is not None:
            return found.encode()
        made = _new_key()
        partial = path.with_suffix(".partial")
        try:
            partial.touch(mode=0o600)
            partial.write_text(made, encoding="ascii")
            partial.replace(path)
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
    return StorageUnavailable(f"{path} can't be kept: {error}", reason="webhook_key")
