"""Country names for engines that take a name instead of a code. Source: ISO 3166-1 short names."""

_NAMES = {
    "ar": "argentina", "at": "austria", "au": "australia", "be": "belgium", "br": "brazil", "ca": "canada",
    "ch": "switzerland", "cl": "chile", "cn": "china", "co": "colombia", "cz": "czech republic", "de": "germany",
    "dk": "denmark", "ee": "estonia", "eg": "egypt", "es": "spain", "fi": "finland", "fr": "france",
    "gb": "united kingdom", "gr": "greece", "hk": "hong kong", "hr": "croatia", "hu": "hungary", "id": "indonesia",
    "ie": "ireland", "il": "israel", "in": "india", "is": "iceland", "it": "italy", "jp": "japan", "ke": "kenya",
    "kr": "south korea", "lt": "lithuania", "lu": "luxembourg", "lv": "latvia", "mx": "mexico", "my": "malaysia",
    "ng": "nigeria", "nl": "netherlands", "no": "norway", "nz": "new zealand", "pe": "peru", "ph": "philippines",
    "pk": "pakistan", "pl": "poland", "pt": "portugal", "ro": "romania", "rs": "serbia", "ru": "russia",
    "sa": "saudi arabia", "se": "sweden", "sg": "singapore", "si": "slovenia", "sk": "slovakia", "th": "thailand",
    "tr": "turkey", "tw": "taiwan", "ua": "ukraine", "uk": "united kingdom", "us": "united states", "vn": "vietnam",
    "za": "south africa",
}  # fmt: skip


def country_name(region: str | None) -> str | None:
    """The English name in lower case of a two-letter code or the end of `de-CH`; None when it isn't listed."""
    return _NAMES.get(region[-2:].lower()) if region else None
