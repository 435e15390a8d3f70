"""The identity of a page for deduplication, caching and counting. What is sent is never changed by this.

Links that only lead to another link are unwrapped, names that say where a visitor came from are left out, and scholarly
works and standards (DOI, arXiv, PubMed, PMC, RFC) are one work behind all their addresses.
"""

import base64
import binascii
import re

from pincite.domain.errors import InvalidUrl, PinciteError
from pincite.urls.parse import LOCAL_SCHEME, ParsedUrl, decode, is_public_suffix, parse_url, query_value
from pincite.urls.policy import vet_url

# Ambiguous names (`ref`, `source`, `id`, `s`, `sid`, `cid`, `clickid`) are content unless a site's row says otherwise.

_NAMES = """
    __hsfp __hssc __hstc _branch_match_id _ga _gl _hsenc _hsmi _kx _openstat action_object_map action_ref_map
    action_type_map adjust_campaign adjust_tracker admitad_uid at_campaign at_medium awc bsft_clkid bsft_uid cm_cr
    cm_me cm_mmc cmpid dclid ebisadid elqtrack elqtrackid epik fb_action_ids fb_action_types fb_ref fb_source
    fbclid gbraid gclid gclsrc guccounter guce_referrer guce_referrer_sig hsa_acc hsa_ad hsa_cam hsa_grp hsa_kw
    hsa_mt hsa_net hsa_src hsa_tgt hsa_ver hsctatracking igsh igshid irclickid irgwc itm_campaign itm_content
    itm_medium itm_source itm_term li_fat_id matomo_campaign mc_cid mc_eid mkt_tok ml_subscriber
    ml_subscriber_hash msclkid mtm_campaign mtm_cid mtm_content mtm_group mtm_medium mtm_placement mtm_source
    ns_campaign ns_mchannel ns_source oly_anon_id oly_enc_id piwik_campaign pk_campaign pk_kwd pk_medium pk_source
    rb_clickid rtkcid s_cid sc_cid spm srsltid ss_source sscid syclid tduid trk_contact trk_msg ttclid twclid usqp
    utm_brand utm_campaign utm_content utm_id utm_medium utm_name utm_pubreferrer utm_reader utm_referrer
    utm_social utm_source utm_term utm_viz_id vero_conv vero_id wbraid wickedid wprov wt_mc xtor yclid ysclid
"""
TRACKING_NAMES = frozenset(_NAMES.split())
TRACKING_PREFIXES = ("utm_", "mtm_", "hsa_", "itm_", "bsft_", "pk_", "matomo_", "piwik_")
_LEFT_OUT = TRACKING_NAMES | {"phpsessid", "jsessionid", "asp.net_sessionid", "cfid", "cftoken"}
_LEFT_OUT_PREFIXES = (*TRACKING_PREFIXES, "aspsessionid")

# What single sites add to a link that names the same page. Keys are hosts without `www.`; subdomains count.
SITE_NAMES = {
    "youtube.com": frozenset({"feature", "si", "pp", "ab_channel", "app"}),
    "medium.com": frozenset({"source", "sk"}),
    "twitter.com": frozenset({"s", "t", "ref_src", "ref_url"}),
    "x.com": frozenset({"s", "t", "ref_src", "ref_url"}),
    "open.spotify.com": frozenset({"si"}),
    "reddit.com": frozenset({"share_id", "rdt"}),
    "linkedin.com": frozenset({"trk", "trackingid", "refid", "originalsubdomain"}),
}
# Mobile hosts that serve the same pages as the host they stand for.
MOBILE_HOSTS = {
    "m.youtube.com": "youtube.com",
    "m.facebook.com": "facebook.com",
    "mbasic.facebook.com": "facebook.com",
    "mobile.twitter.com": "twitter.com",
    "m.twitter.com": "twitter.com",
    "m.imdb.com": "imdb.com",
    "m.reddit.com": "reddit.com",
    "m.vk.com": "vk.com",
}
# Projects whose mobile host is `LANGUAGE.m.PROJECT`, and where a space in a title is the same as an underscore.
WIKIS = frozenset(
    "wikipedia.org wiktionary.org wikiquote.org wikibooks.org wikisource.org wikinews.org wikiversity.org "
    "wikivoyage.org wikidata.org wikimedia.org mediawiki.org".split()
)
GIT_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})


def is_tracking(name: str) -> bool:
    """Whether a query parameter of this name never changes what the page says."""
    name = name.lower()
    return name in _LEFT_OUT or name.startswith(_LEFT_OUT_PREFIXES)


# Links that only lead to another link: redirectors of search engines and social sites, AMP caches and viewers.

_GOOGLE = re.compile(r"(?:www\.)?google\.(?:com|[a-z]{2,3}|com?\.[a-z]{2})")
_BY_QUERY: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = (
    (_GOOGLE, "/url", ("q", "url")),
    (re.compile(r"(?:l|lm)\.facebook\.com"), "/l.php", ("u",)),
    (re.compile(r"l\.(?:instagram|threads)\.(?:com|net)"), "/", ("u",)),
    (re.compile(r"(?:www\.|html\.|lite\.)?duckduckgo\.com"), "/l/", ("uddg",)),
    (re.compile(r"(?:www\.)?youtube\.com"), "/redirect", ("q",)),
    (re.compile(r"out\.reddit\.com"), "/", ("url",)),
    (re.compile(r"t\.umblr\.com"), "/redirect", ("z",)),
    (re.compile(r"(?:www\.)?linkedin\.com"), "/redir/redirect", ("url",)),
    (re.compile(r"steamcommunity\.com"), "/linkfilter/", ("url", "u")),
    (re.compile(r"(?:m\.)?vk\.com"), "/away.php", ("to",)),
    (re.compile(r"[a-z0-9]+\.safelinks\.protection\.outlook\.com"), "/", ("url",)),
)
_AMP_PATH = re.compile(r"/(?:[a-z]/)?(?P<tls>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)", re.DOTALL)
_YAHOO_TARGET = re.compile(r"/RU=(?P<url>[^/]+)/R[KS]=")


def unwrapped(url: ParsedUrl) -> str | None:
    """The text of the URL behind a redirector or an AMP copy, unvetted, or None when this is a page itself."""
    host = url.host.rstrip(".")
    for hosts, path, names in _BY_QUERY:
        if url.path == path and hosts.fullmatch(host):
            return next(filter(None, (query_value(url.query, name) for name in names)), None)
    # Bing wraps the address in base64 behind two characters of its own (`a1`).
    if host in {"www.bing.com", "bing.com"} and url.path.rstrip("/") == "/ck/a":
        return _bing(query_value(url.query, "u") or "")
    if host == "r.search.yahoo.com" and (match := _YAHOO_TARGET.search(url.path)):
        return decode(match["url"])
    return _amp(url, host)


def _bing(value: str) -> str | None:
    if not value.startswith("a1"):
        return None
    try:
        text = base64.urlsafe_b64decode(value[2:] + "=" * (-len(value[2:]) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if "://" in text else None  # `a1L2ltYWdlcw` is a page of the engine itself


def _amp(url: ParsedUrl, host: str) -> str | None:
    if _GOOGLE.fullmatch(host) and url.path.startswith("/amp/"):
        match = re.fullmatch(r"/(?P<tls>s/)?(?P<rest>.+)", url.path[4:], re.DOTALL)
    elif host.endswith(".cdn.ampproject.org") or host in {"cdn.ampproject.org", "amp.cloudflare.com"}:
        match = _AMP_PATH.fullmatch(url.path)
    else:
        return None
    if match is None:
        return None
    scheme = "https" if match["tls"] else "http"
    return f"{scheme}://{match['rest']}" + (f"?{url.query}" if url.query else "")


# Identity of scholarly works and standards behind URLs: DOI, arXiv, PubMed, PMC, RFC.

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


def work_of(url: ParsedUrl) -> str | None:
    """The work a URL leads to, by its host and path alone."""
    host = url.host.rstrip(".")
    if host in _DOI_HOSTS:
        doi = decode(url.path).lstrip("/")
        if not _DOI.fullmatch(doi):
            return None
        doi = doi.rstrip("/").lower()
        arxiv = _ARXIV_DOI.fullmatch(doi)
        return f"arxiv:{re.sub(r'v[0-9]+$', '', arxiv['id'])}" if arxiv else f"doi:{doi}"
    if host in _ARXIV_HOSTS or _ARXIV_MIRRORS.fullmatch(host):
        return _match("arxiv", _ARXIV_PATH, decode(url.path))
    if host in _RFC_HOSTS:
        return _match("rfc", _RFC_PATH, url.path)
    if host in {"pubmed.ncbi.nlm.nih.gov", "www.ncbi.nlm.nih.gov", "ncbi.nlm.nih.gov"}:
        # One host has both: the path says which.
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


_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SESSION_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_INDEX = re.compile(r"/(?:index\.(?:html?|php)|default\.aspx?)$", re.IGNORECASE)
# Wrappers within wrappers are made by forwarding a link on; a cycle of them must end.
_UNWRAPS_MAX = 5


def url_key(url: str) -> str:
    """The identity of the page behind `url`: a work id where the URL names one, else the normalised URL.

    Two URLs with one key are one page. Idempotent. `local:NAME/path` identities of local libraries stand for
    themselves.

    Errors:
        InvalidUrl: not an http or https URL.
        BlockedAddress: a redirector that leads to an address that may not be fetched.
    """
    text = url.strip(" ")
    if text.startswith(LOCAL_SCHEME):
        return text.split("#", 1)[0]
    if text.startswith(("doi:", "arxiv:", "pmid:", "pmcid:", "rfc:")):
        return text
    parsed = _page(text)
    return work_of(parsed) or _normalised(parsed)


def page_key(url: str) -> str:
    """As `url_key`, without works: the abstract and the PDF of one paper are two pages. For caches.

    Errors: those of `url_key`.
    """
    text = url.strip(" ")
    return text.split("#", 1)[0] if text.startswith(LOCAL_SCHEME) else _normalised(_page(text))


def address_key(url: str) -> str:
    """As `page_key`; the address itself where it is none that may be fetched."""
    try:
        return page_key(url)
    except PinciteError:
        return url


def _page(text: str) -> ParsedUrl:
    parsed = parse_url(text)
    for _ in range(_UNWRAPS_MAX):
        inner = unwrapped(parsed) if parsed.scheme in {"http", "https"} else None
        if inner is None:
            break
        parsed = parse_url(vet_url(inner))  # what a redirector names gets the full policy
    if parsed.scheme not in {"http", "https"}:
        raise InvalidUrl("only http and https URLs name a page", reason="scheme_denied")
    return parsed


def _normalised(url: ParsedUrl) -> str:
    host = _host(url)
    path = _decoded(url.path)
    query = _decoded(url.query) if url.query else ""
    if host.partition(".")[2] in WIKIS:
        path = path.replace("%20", "_")
    # Before the query is sorted: the short form has the video in its path.
    if host == "youtu.be" and path.strip("/"):
        host, query, path = "youtube.com", f"v={path.strip('/')}" + (f"&{query}" if query else ""), "/watch"
    query = _query(query, host)
    path = _path(path, host, bare=not query)
    # One page under both schemes nearly everywhere; at another port it may well be two servers.
    scheme = "https" if url.has_default_port else url.scheme
    authority = f"[{host}]" if ":" in host else host
    port = "" if url.has_default_port else f":{url.port}"
    # `#!` names pages of script-driven sites; any other fragment is a place on the page.
    fragment = f"#{url.fragment}" if url.fragment.startswith("!") else ""
    return f"{scheme}://{authority}{port}{path}" + (f"?{query}" if query else "") + fragment


def _host(url: ParsedUrl) -> str:
    host = url.host
    if url.is_literal:
        return host
    host = host.rstrip(".")
    rest = host.removeprefix("www.")
    # `www.` of a public suffix (`www.co.uk`) is a name of its own.
    if rest != host and "." in rest and not is_public_suffix(rest):
        host = rest
    head, middle, tail = host.partition(".m.")
    if middle and tail in WIKIS:
        return f"{head}.{tail}"
    return MOBILE_HOSTS.get(host, host)


def _path(path: str, host: str, *, bare: bool) -> str:
    """The path without session ids, index files and trailing slashes, until nothing more can go."""
    while True:
        shorter = _SESSION_PATH.sub("", path) if ";" in path else path
        if bare:
            shorter = _INDEX.sub("/", shorter)
        shorter = shorter.rstrip("/") or "/"
        if host in GIT_HOSTS and shorter.count("/") == 2:
            shorter = shorter.removesuffix(".git")
        if shorter == path:
            return path
        path = shorter


def _query(query: str, host: str) -> str:
    if not query:
        return ""
    site = next((names for name, names in SITE_NAMES.items() if host == name or host.endswith("." + name)), frozenset())
    kept = []
    for piece in query.split("&"):
        name = piece.partition("=")[0]
        if piece and not is_tracking(name) and name.lower() not in site:
            kept.append((name, piece))
    # By name alone, and stable: the order of two values of one name may mean something.
    return "&".join(piece for _, piece in sorted(kept, key=lambda pair: pair[0]))


def _decoded(text: str) -> str:
    """Unreserved characters decoded, other escapes in upper case; repeated, since decoding can spell a new escape.

    Source: RFC 3986 §6.2.2.1 and §6.2.2.2.
    """
    while "%" in text:
        plainer = _ESCAPE.sub(lambda at: chr(int(at[1], 16)) if int(at[1], 16) in _UNRESERVED else at[0].upper(), text)
        if plainer == text:
            break
        text = plainer
    return text
