"""URLs as they may be shown: values that look like credentials are masked; the URL that is sent stays as it is."""

import re

from pincite.domain.events import Json

# Names whose value opens something: API keys, bearer tokens, signatures of signed URLs (S3, GCS, Azure, CloudFront).
_SECRET_NAME = re.compile(
    r"""(?ix) ^(?:
        .*(?:api|access|secret|private|auth|session|subscription|client|account|license)
          [-_.]?(?:key|token|secret|sig|signature)s?
      | .*(?:password|passwd|passphrase|credential|signature|jwt|bearer|secret)s?
      | (?:.*[-_.])?(?:token|key|sig|pwd|pass|auth|authorization|hmac|hash|code|ticket|session|sid|nonce|otp|policy)
      | x-(?:amz|goog|oss|cos|obs|ms)-.*
      | awsaccesskeyid|googleaccessid|ossaccesskeyid|key-pair-id|phpsessid|jsessionid
    )$"""
)
_PAIR = re.compile(r"(?P<lead>[?&;#])(?P<name>[^=&#\s\"'<>]{1,64})=(?P<value>[^&#\s\"'<>]*)")
_USERINFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^/?#\s@\"'<>]+@", re.IGNORECASE)
# Names that mostly name content; their values are masked when they look like a credential.
_MAYBE = frozenset({"code", "hash", "sid", "key", "pass", "policy", "session", "auth", "ticket", "client_key"})
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+/=_%.~-]{16,}")
_SEPARATORS_MAX = 3
MASK = "***"


def mask_url(url: str) -> str:
    """The URL with credential-like query values and user names replaced by `***`."""
    return mask_secrets(url)


def mask_all(value: Json) -> Json:
    """Plain JSON with the secrets of every URL in its texts masked."""
    match value:
        case str():
            return mask_secrets(value) if "=" in value or "@" in value else value
        case list():
            return [mask_all(item) for item in value]
        case dict():
            return {name: mask_all(item) for name, item in value.items()}
        case _:
            return value


def mask_secrets(text: str) -> str:
    """The text with the secrets of every URL in it masked. Idempotent."""
    return _PAIR.sub(_masked, _USERINFO.sub(rf"\g<scheme>{MASK}@", text))


def _masked(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if not value or not _SECRET_NAME.match(name):
        return match[0]
    if name.lower() in _MAYBE and not (_RANDOM.fullmatch(value) and value.count("-") <= _SEPARATORS_MAX):
        return match[0]  # `?code=404`, `?ticket=1234` and `?key=how-to-install` name content
    return f"{match['lead']}{name}={MASK}"
