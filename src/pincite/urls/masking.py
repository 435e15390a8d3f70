"""URLs as they may be shown: values that look like credentials are masked; the URL that is sent stays as it is."""

import re

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
_HARMLESS_NAME = frozenset({"code", "hash", "sid", "key", "pass", "policy", "session", "auth"})
_LONG = 16
MASK = "***"


def mask_url(url: str) -> str:
    """The URL with credential-like query values and user names replaced by `***`."""
    return mask_secrets(url)


def mask_secrets(text: str) -> str:
    """The text with the secrets of every URL in it masked. Idempotent."""
    return _PAIR.sub(_masked, _USERINFO.sub(rf"\g<scheme>{MASK}@", text))


def _masked(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if not value or not _SECRET_NAME.match(name):
        return match[0]
    if name.lower() in _HARMLESS_NAME and len(value) < _LONG:
        return match[0]  # `?code=404` and `?hash=abc` name content; real ones are long
    return f"{match['lead']}{name}={MASK}"
