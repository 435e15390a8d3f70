"""Which address a page is known by, from its final URL and its canonical link."""

from pincite.domain.errors import PinciteError
from pincite.urls.parse import parse_url, registrable_domain
from pincite.urls.policy import DEFAULT, UrlPolicy, vet_url


def merged_canonical(final_url: str, claimed: str, policy: UrlPolicy = DEFAULT) -> str:
    """The page's own canonical URL where it may be believed, else `final_url`.

    Believed: same registrable domain, allowed by the policy, and not the site's root for a page that isn't the root.

    Source: security rules on canonical links; a foreign canonical could give a page another site's name.
    """
    if not claimed:
        return final_url
    try:
        here = parse_url(final_url)
        there = parse_url(vet_url(claimed, policy=policy))
        same_site = registrable_domain(here.href) == registrable_domain(there.href)
    except PinciteError:
        return final_url
    to_root = there.path == "/" and not there.query and (here.path != "/" or bool(here.query))
    return there.sent if same_site and not to_root else final_url
