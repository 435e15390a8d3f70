"""Builds what sends webhooks: the client of the fetch front door, with its vetting of addresses, and a signature."""

import base64
import hashlib
import hmac
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pincite.domain.errors import StorageUnavailable
from pincite.ports import Clock
from pincite.runtime.kept_open import KeptOpen
from pincite.settings import Settings
from pincite.urls import AddressPolicy, UrlPolicy
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import PORTS, vet_parsed

if TYPE_CHECKING:
    from pincite.fetch.client import GuardedClient

KEY_NAME: Final = "webhook.key"
MAX_ANSWER_BYTES: Final = 65_536


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


async def build_webhooks(settings: Settings, clock: Clock, kept: KeptOpen) -> WebhookDoor:
    """The sender of webhooks under these settings. Errors: StorageUnavailable (its key can't be kept)."""
    from pincite.fetch.client import GuardedClient
    from pincite.fetch.own_addresses import own_public_addresses
    from pincite.fetch.resolver import SystemResolver, VettedResolver, parse_resolve

    addresses = AddressPolicy(allow_networks=settings.allow_networks, deny_networks=own_public_addresses())
    policy = UrlPolicy(addresses=addresses, ports=PORTS | frozenset(settings.allow_ports))
    resolver = VettedResolver(SystemResolver(), policy, clock, parse_resolve(settings.resolve))
    client: GuardedClient = await kept.open(GuardedClient(policy, resolver, clock))
    return WebhookDoor(client, policy, master_key(settings))


def master_key(settings: Settings) -> bytes:
    """What the signing keys of all scopes are made from: the setting, or a file of the home made once."""
    if settings.webhook_secret is not None:
        return settings.webhook_secret.get_secret_value().encode()
    path: Path = settings.home / KEY_NAME
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.touch(mode=0o600)
            partial.write_text(secrets.token_urlsafe(32), encoding="ascii")
            partial.replace(path)
        return path.read_bytes()
    except OSError as error:
        raise StorageUnavailable(f"{path} can't be kept: {error}", reason="webhook_key") from error
