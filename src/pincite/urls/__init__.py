"""URLs: parsing, the policy of what may be fetched, and the three identities of a page. Pure; no DNS, no I/O."""

from pincite.urls.keys import url_key
from pincite.urls.masking import mask_secrets, mask_typed
from pincite.urls.parse import ParsedUrl, host_matches, parse_url, registrable_domain
from pincite.urls.policy import DEFAULT, AddressPolicy, UrlPolicy, mixed_script, vet_url

__all__ = [
    "DEFAULT",
    "AddressPolicy",
    "ParsedUrl",
    "UrlPolicy",
    "host_matches",
    "mask_secrets",
    "mask_typed",
    "mixed_script",
    "parse_url",
    "registrable_domain",
    "url_key",
    "vet_url",
]
