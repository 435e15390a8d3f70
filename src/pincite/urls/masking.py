"""URLs and typed texts as they may be shown: what looks like a credential is masked; what is sent stays as it is."""

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
# Keys may have some; words joined by many are a title.
_SEPARATORS_MAX = 3
# What people paste: keys in the forms that their issuers document, JSON web tokens, private keys.
_TOKEN = re.compile(
    r"""(?x) \b(?:
        sk-[A-Za-z0-9_-]{16,} | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} | gsk_[A-Za-z0-9]{20,} | hf_[A-Za-z0-9]{20,}
      | gh[opsur]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,} | glpat-[A-Za-z0-9_-]{16,} | npm_[A-Za-z0-9]{30,}
      | pypi-[A-Za-z0-9_-]{40,} | xox[abeprs]-[A-Za-z0-9-]{10,} | A(?:KI|SI)A[A-Z0-9]{16} | AIza[A-Za-z0-9_-]{30,}
      | ya29\.[A-Za-z0-9_-]{20,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | (?:tvly|fc)-[A-Za-z0-9-]{16,}
      | jina_[A-Za-z0-9]{20,} | pc_[A-Za-z0-9_-]{30,} | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+
    )"""
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)", re.S
)
_SCHEME = re.compile(r"(?i)\b(?P<scheme>bearer|basic|token)(?P<gap>\s+)(?=\S{0,200}\d)[A-Za-z0-9+/=_.~-]{12,}")
_ASSIGNED = re.compile(
    r"(?P<lead>(?<![\w.-])-{0,2}(?P<name>[A-Za-z][\w.-]{0,60}+)[\"']?(?P<sign>\s?[=:]\s?)[\"']?)"
    r"(?P<value>[^\s\"'&,;]{6,})"
)
_FLAG = re.compile(r"(?P<lead>(?<!\S)--(?P<name>[A-Za-z][\w.-]{0,60}+)\s)(?P<value>[^\s\"'&,;-][^\s\"'&,;]{5,})")
# Narrower than for URLs: in a sentence "code", "hash" and "key" mostly are what they say.
_TYPED_NAME = re.compile(
    r"""(?ix) ^(?:
        (?:.*[-_.])?(?:api|access|secret|private|auth|client|account|license|subscription)[-_.]?(?:key|token|secret)s?
      | (?:.*[-_.])?(?:password|passwd|passphrase|credentials?|secret|token|pwd)
    )$"""
)
MASK = "***"


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
    """The text, or the URL, with credential-like query values and user names of URLs as `***`. Idempotent."""
    return _PAIR.sub(_masked, _USERINFO.sub(rf"\g<scheme>{MASK}@", text))


def _masked(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if not value or not _SECRET_NAME.match(name):
        return match[0]
    if name.lower() in _MAYBE and not (_RANDOM.fullmatch(value) and value.count("-") <= _SEPARATORS_MAX):
        return match[0]  # `?code=404`, `?ticket=1234` and `?key=how-to-install` name content
    return f"{match['lead']}{name}={MASK}"


def mask_typed(text: str) -> str:
    """As `mask_secrets`, and without the keys, tokens and passwords that people paste into a question. Idempotent."""
    masked = _PRIVATE_KEY.sub(MASK, mask_secrets(text))
    masked = _SCHEME.sub(rf"\g<scheme>\g<gap>{MASK}", _TOKEN.sub(MASK, masked))
    return _FLAG.sub(_value_masked, _ASSIGNED.sub(_value_masked, masked))


def _value_masked(match: re.Match[str]) -> str:
    if not _TYPED_NAME.match(match["name"]):
        return match[0]
    # `password: hunter2` gives one away, `token: expired` is a sentence.
    if ":" in match["lead"] and not any(character.isdigit() for character in match["value"]):
        return match[0]
    return f"{match['lead']}{MASK}"
