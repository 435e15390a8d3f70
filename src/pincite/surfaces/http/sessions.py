"""Who sits at a browser: sessions opened with an API key, and the tokens that forms carry.

A session lives in this process only and ends with it, with its key, or after twelve hours. Its cookie is unreadable
for scripts and not sent by other sites' forms.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pincite.domain.access import ApiKey
from pincite.domain.errors import Unauthorized
from pincite.surfaces.http.identity import LOCAL_SCOPE, KeyRing

COOKIE = "pincite_session"
LIFETIME_S = 12 * 3600
MAX_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class _Session:
    key: ApiKey
    until_s: float


class Sessions:
    """The sessions of one server. `now_s` is a clock that never runs backwards."""

    def __init__(self, keys: KeyRing, now_s: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._now_s = now_s
        self._secret = secrets.token_bytes(32)
        self._open: OrderedDict[str, _Session] = OrderedDict()

    def open(self, secret: str) -> str:
        """The cookie of a new session for the owner of a key. Errors: Unauthorized."""
        key = self._keys.key_of(secret)
        cookie = secrets.token_urlsafe(32)
        self._open[_digest(cookie)] = _Session(key, self._now_s() + LIFETIME_S)
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)
        return cookie

    def close(self, cookie: str | None) -> None:
        """End a session."""
        self._open.pop(_digest(cookie or ""), None)

    def scope_of(self, cookie: str | None) -> str | None:
        """The scope a cookie opens, or None; without any key in the home everybody is the local user."""
        if not self._keys.needed:
            return LOCAL_SCOPE
        key = self.key_of(cookie)
        return None if key is None else key.scope

    def key_of(self, cookie: str | None) -> ApiKey | None:
        """The key that a session was opened with, or None when it has ended."""
        session = self._open.get(_digest(cookie or ""))
        if session is None or session.until_s < self._now_s() or session.key not in self._keys.active:
            self.close(cookie)
            return None
        return session.key

    def form_token(self, cookie: str | None) -> str:
        """What every form of this session carries, so that nobody else's page can send one."""
        return hmac.new(self._secret, (cookie or LOCAL_SCOPE).encode(), hashlib.sha256).hexdigest()

    def vet_form(self, cookie: str | None, token: str) -> None:
        """Return when a form came from a page of this session. Errors: Unauthorized."""
        if not hmac.compare_digest(self.form_token(cookie), token):
            raise Unauthorized(
                "this form is out of date", reason="form_token_unknown", hint="Reload the page and send it again."
            )


def _digest(cookie: str) -> str:
    # Looking up the hash takes as long for an almost right cookie as for any other.
    return hashlib.sha256(cookie.encode()).hexdigest()
