"""The version of this Pincite, in one place."""

VERSION = "0.2.0"
# The name in robots.txt: no digits, as RFC 9309 has it.
PRODUCT_TOKEN = "Pincite"  # noqa: S105  # no secret
# The one name that Pincite gives itself. Whom a site can write to is the operator's to say: `user_agent_contact`.
USER_AGENT = f"{PRODUCT_TOKEN}/{VERSION}"


def user_agent(contact: str | None) -> str:
    """The name with the operator's contact, an address or a URL, in the form that crawlers give it."""
    return f"{USER_AGENT} (+{contact})" if contact else USER_AGENT
