"""How long a page counts as fresh, by what it is."""

import re
from datetime import timedelta

from pincite.domain.page import Document, Snapshot
from pincite.urls.parse import parse_url

# How long a page counts as fresh is chosen by how often its kind changes, not measured.
NEWS = timedelta(hours=1)
PAGE = timedelta(hours=24)
DOCUMENTATION = timedelta(days=7)
PDF = timedelta(days=30)
NEGATIVE = timedelta(minutes=10)
STALE_IF_ERROR = timedelta(days=30)

_DOCUMENTATION = re.compile(
    r"^(?:docs?|documentation|developers?|api|wiki|man|manual|reference|learn)\.|\.readthedocs\.(?:io|org)$"
)
_DOCUMENTATION_PATH = re.compile(r"/(?:docs?|documentation|manual|reference|man\d?|api|wiki|rfcs?|spec)(?:/|$)", re.I)
_NEWS_PATH = re.compile(r"/(?:news|live|breaking|latest|politics|markets|\d{4}/\d{1,2}/\d{1,2})(?:/|$|-)", re.I)
_RECENT = timedelta(days=3)


def time_to_live(snapshot: Snapshot, document: Document) -> timedelta:
    """How long this capture is served without asking the host again."""
    if "pdf" in snapshot.content_type.lower():
        return PDF
    url = parse_url(snapshot.final_url)
    published_at = document.published_at
    recent = published_at is not None and snapshot.fetched_at - published_at < _RECENT
    if recent or _NEWS_PATH.search(url.path):
        return NEWS
    if _DOCUMENTATION.search(url.host) or _DOCUMENTATION_PATH.search(url.path):
        return DOCUMENTATION
    return PAGE


def may_be_kept(snapshot: Snapshot) -> bool:
    """Whether the shared page cache may hold this capture at all."""
    control = dict(snapshot.headers).get("cache-control", "").lower()
    return snapshot.status == 200 and "no-store" not in control
