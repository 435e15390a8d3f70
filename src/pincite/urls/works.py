"""Identity of scholarly works and standards behind URLs: DOI, arXiv, PubMed, PMC, RFC."""

import re

from pincite.domain.errors import InvalidUrl
from pincite.urls.parse import ParsedUrl, decode, parse_url

_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(?P<id>\S+)", re.IGNORECASE)
_ARXIV_ID = r"(?P<id>\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?"
_ARXIV_PATH = re.compile(rf"/(?:abs|pdf|html|format|ps|e-print|src|list/abs)/{_ARXIV_ID}(?:\.pdf)?/?", re.IGNORECASE)
_RFC_PATH = re.compile(
    r"/(?:rfc/|html/|info/|doc/|doc/html/|doc/rfc/|pdf/|std/)rfc0*(?P<id>[1-9]\d{0,4})(?:\.(?:html|txt|pdf|xml|ps|json))?/?",
    re.IGNORECASE,
)
_PUBMED_PATH = re.compile(r"(?:/pubmed|/m/pubmed)?/(?P<id>\d{1,9})/?")
_PMC_PATH = re.compile(r"(?:/pmc)?/articles/PMC(?P<id>\d{1,9})(?:/.*)?", re.IGNORECASE)

_DOI_HOSTS = frozenset({"doi.org", "dx.doi.org", "www.doi.org"})
_ARXIV_HOSTS = frozenset({"arxiv.org", "ar5iv.org", "ar5iv.labs.arxiv.org"})
_ARXIV_MIRRORS = re.compile(r"(?:www|export|browse|[a-z]{2})\.arxiv\.org|www\.ar5iv\.org")
_RFC_HOSTS = frozenset(
    {"rfc-editor.org", "www.rfc-editor.org", "datatracker.ietf.org", "tools.ietf.org", "www.ietf.org"}
)

_TEXT = (
    ("arxiv", re.compile(rf"arxiv:\s*{_ARXIV_ID}", re.IGNORECASE)),
    ("pmcid", re.compile(r"(?:pmcid:\s*)?PMC(?P<id>\d{1,9})", re.IGNORECASE)),
    ("pmid", re.compile(r"pmid:?\s*(?P<id>\d{1,9})", re.IGNORECASE)),
    ("rfc", re.compile(r"rfc[\s:-]*0*(?P<id>[1-9]\d{0,4})", re.IGNORECASE)),
)


def work_id(url_or_text: str) -> str | None:
    """`doi:`, `arxiv:`, `pmid:`, `pmcid:` or `rfc:` with its number when this names such a work, else None.

    Takes a URL or the short form people write (`doi:10.1000/x`, `arXiv:2301.00001v2`, `RFC 9309`).
    """
    text = url_or_text.strip()
    if "://" in text:
        try:
            return work_of(parse_url(text))
        except InvalidUrl:
            return None
    bare = re.sub(r"^doi:\s*", "", text, flags=re.IGNORECASE)
    if _DOI.fullmatch(bare):
        return _of_doi(bare)
    for kind, pattern in _TEXT:
        if match := pattern.fullmatch(text):
            return _named(kind, match["id"])
    return None


def work_of(url: ParsedUrl) -> str | None:
    """The work a URL leads to, by its host and path alone."""
    host = url.host.rstrip(".")
    if host in _DOI_HOSTS:
        doi = decode(url.path).lstrip("/")
        return _of_doi(doi) if _DOI.fullmatch(doi) else None
    if host in _ARXIV_HOSTS or _ARXIV_MIRRORS.fullmatch(host):
        return _match("arxiv", _ARXIV_PATH, decode(url.path))
    if host in _RFC_HOSTS:
        return _match("rfc", _RFC_PATH, url.path)
    if host in {"pubmed.ncbi.nlm.nih.gov", "www.ncbi.nlm.nih.gov", "ncbi.nlm.nih.gov"}:
        if not host.startswith("pubmed") and "/pubmed/" not in url.path:
            return _match("pmcid", _PMC_PATH, url.path)
        return _match("pmid", _PUBMED_PATH, url.path)
    if host in {"pmc.ncbi.nlm.nih.gov", "europepmc.org"}:
        return _match("pmcid", _PMC_PATH, url.path)
    return None


def _match(kind: str, pattern: re.Pattern[str], path: str) -> str | None:
    match = pattern.fullmatch(path)
    return _named(kind, match["id"]) if match else None


def _named(kind: str, number: str) -> str:
    if kind == "pmcid":
        return f"pmcid:PMC{number}"
    if kind == "arxiv" and "/" in number:  # the subject class (math.AG) is not part of the identity
        archive, _, digits = number.partition("/")
        return f"arxiv:{archive.split('.', 1)[0].lower()}/{digits}"
    return f"{kind}:{number}"


def _of_doi(doi: str) -> str:
    doi = doi.rstrip("/").lower()
    arxiv = _ARXIV_DOI.fullmatch(doi)
    if arxiv:
        return f"arxiv:{re.sub(r'v[0-9]+$', '', arxiv['id'])}"
    return f"doi:{doi}"
