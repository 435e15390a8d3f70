"""Names that say where a visitor came from and nothing about the page: facts about the web, kept as one table.

Ambiguous names (`ref`, `source`, `id`, `s`, `sid`, `cid`, `clickid`) are content unless a site's row says otherwise.
"""

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
SESSION_NAMES = frozenset({"phpsessid", "jsessionid", "asp.net_sessionid", "cfid", "cftoken"})
SESSION_PREFIXES = ("aspsessionid",)

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
    {
        "wikipedia.org",
        "wiktionary.org",
        "wikiquote.org",
        "wikibooks.org",
        "wikisource.org",
        "wikinews.org",
        "wikiversity.org",
        "wikivoyage.org",
        "wikidata.org",
        "wikimedia.org",
        "mediawiki.org",
    }
)
GIT_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})


def is_tracking(name: str) -> bool:
    """Whether a query parameter of this name never changes what the page says."""
    name = name.lower()
    return (
        name in TRACKING_NAMES
        or name in SESSION_NAMES
        or name.startswith(TRACKING_PREFIXES)
        or name.startswith(SESSION_PREFIXES)
    )
