"""What the reference formats share: citation keys, site names, DOIs."""

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from pincite.domain.report import Reference

_DOI_HOSTS = frozenset({"doi.org", "dx.doi.org", "www.doi.org"})


def site(url: str) -> str:
    """The host of `url` without `www.`, or the empty string when there is none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # an address that no parser takes is still a reference
        return ""
    return host.removeprefix("www.")


def doi(url: str) -> str:
    """The DOI that `url` resolves, or the empty string."""
    if site(url) not in _DOI_HOSTS:
        return ""
    path = unquote(urlsplit(url).path).strip("/")
    return path if path.startswith("10.") else ""


def keys(references: Iterable[Reference]) -> dict[int, str]:
    """A citation key for each reference number: author or site, year, first long word; distinct."""
    chosen: dict[int, str] = {}
    taken: set[str] = set()
    for reference in references:
        year = (reference.published_at or reference.accessed_at).year
        name = _ascii((reference.author or "").split(",")[0].split(" ")[-1]) or _ascii(
            site(reference.url).split(".")[0]
        )
        word = next((w for w in map(_ascii, reference.title.split()) if len(w) > 3), "")
        base = f"{name or 'source'}{year}{word}"
        key = base
        suffix = 2
        while key in taken:
            key, suffix = f"{base}-{suffix}", suffix + 1
        taken.add(key)
        chosen[reference.n] = key
    return chosen


def provenance(reference: Reference) -> str:
    """The note of an entry: where the text was come by and the capture it was read from."""
    return "; ".join(filter(None, (reference.note, f"snapshot {reference.snapshot_id}")))


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", plain.lower())
