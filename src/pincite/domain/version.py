"""The version of this Pincite, in one place."""

VERSION = "0.1.0"
PRODUCT_TOKEN = "Pincite"  # noqa: S105  # no secret
"""The name in robots.txt: no digits, as RFC 9309 has it."""
USER_AGENT = f"{PRODUCT_TOKEN}/{VERSION} (+https://pincite.example/docs)"
"""The one name that Pincite gives itself."""
