"""What a `reason` of docs/errors.md means to somebody who reads a report: why a page or a search brought nothing.

The codes stay in events, reports and errors, for programs; every text made for people says these words.
"""

import re
from collections.abc import Mapping
from typing import Final

_CODE: Final = re.compile(r"[a-z0-9_]*")
_STATUS: Final = re.compile(r"http_(\d{3})")
# What an answer of the web says with a number.
STATUSES: Final[Mapping[int, str]] = {
    401: "the site wants a login",
    402: "the site wants a payment",
    403: "the site refused to hand it out, with status 403",
    404: "the page does not exist any more",
    407: "the site wants a login",
    410: "the page was taken down",
    429: "the site asked to come back later",
    451: "the site may not hand it out, for legal reasons",
}

# In words, to follow the name of a page, of a search engine or of a run.
REASONS: Final[Mapping[str, str]] = {
    # rules of ours and of the site
    "robots": "the site's robots.txt does not allow it",
    "robots_disallowed": "the site's robots.txt does not allow it",
    "robots_unreachable": "the site's robots.txt could not be read, so nothing was taken",
    "ai_input_no": "the site does not allow its pages to be used by research tools",
    "may_not_be_quoted": "the site does not allow it to be quoted",
    "outside_period": "it was published outside the period asked for",
    "language_not_allowed": "it is in another language than asked for",
    "host_not_allowed": "its site is not one of those asked for",
    "domain_denied": "its site is excluded",
    "deny_listed": "its site is excluded",
    "too_old": "the item shared is older than pages of its kind are kept",
    # items that another installation shares
    "not_shared": "the installation asked has no such item to share",
    "other_item": "the item shared is not the one that was asked for",
    "other_url": "the item shared is of another address",
    "bad_address": "the item shared names an address that may not be asked",
    "not_normal": "the item shared is not written as items are",
    "no_store": "its site asked that it not be stored",
    # files handed over
    "file_empty": "the file is empty",
    "body_too_large": "the file is larger than may be read",
    "host_denied": "its address is not one of the public web",
    "address_not_public": "its address is not one of the public web",
    "ssrf_address": "its address is not one of the public web",
    "scheme_denied": "its address is not a web address",
    "port_denied": "its port is not one of the web's",
    "userinfo_denied": "its address carries a user name",
    "secret_in_url": "its address carries a secret",
    "method_denied": "it can't be asked for by reading alone",
    "url_invalid": "its address is not valid",
    "url_too_long": "its address is too long",
    "url_control_char": "its address is not valid",
    "host_syntax": "its address is not valid",
    "host_too_long": "its address is not valid",
    # the way there
    "dead_link": "the page does not exist any more",
    "not_found": "the page does not exist any more",
    "soft_404": "the site shows an error page instead of it",
    "redirected": "it only leads to another page",
    "redirect_loop": "it redirects in a circle",
    "redirect_downgrade": "it leads from a secure address to an open one",
    "redirect_no_location": "it leads nowhere",
    "redirect_ambiguous": "it leads nowhere",
    "too_many_redirects": "it redirects too often",
    "dns_error": "its site could not be found",
    "dns_failed": "its site could not be found",
    "dns_timeout": "its site could not be found in time",
    "connect_failed": "the site could not be reached",
    "connect_timeout": "the site could not be reached in time",
    "connection_reset": "the site broke off the connection",
    "disconnected": "the site broke off the connection",
    "connections_max": "too many connections were open",
    "network_error": "the site could not be reached",
    "no_network": "it can't be reached from this network",
    "tls_error": "the site's certificate is not valid",
    "protocol_error": "the site's answer was no valid web answer",
    "breaker_open": "the site had failed several times before",
    "timeout": "it took too long",
    "read_timeout": "the site stopped answering",
    "deadline_total": "it took too long",
    "render_deadline": "it took too long to draw",
    "too_slow": "the site sent it too slowly",
    "host_queue": "too many of its site's pages were waiting",
    # what came
    "page_blocked": "the site refused to hand it out",
    "archive_excluded": "the archive may not show it",
    "challenge": "the site lets only people at a browser in",
    "login_required": "the site wants a login",
    "login_page": "the site wants a login",
    "too_large": "it is too large",
    "sheet_too_wide": "its sheets are too large",
    "wire_too_large": "it is too large",
    "decoded_too_large": "it is too large",
    "headers_too_large": "it is too large",
    "too_much_text": "it is too large",
    "too_many_pages": "it has too many pages",
    "too_many_tags": "it is too large to read safely",
    "too_many_entries": "it is too large to read safely",
    "too_many_attributes": "it is too large to read safely",
    "too_deep": "it is nested too deeply to read safely",
    "archive_bomb": "it unpacks to far too much",
    "xml_entities": "it can't be read safely",
    "body_incomplete": "only part of it came",
    "body_corrupt": "it came damaged",
    "binary": "it is not a text",
    "unsupported_content_type": "files of its kind can't be read",
    "encoding_unsupported": "it is packed in a way that can't be read",
    "encoding_stacked": "it is packed in a way that can't be read",
    "encoding_window_too_large": "it is packed in a way that can't be read",
    "parse_error": "it could not be read",
    "pdf_scanned": "it is a scan without text",
    "pdf_encrypted": "it is encrypted",
    "archive_encrypted": "it is encrypted",
    "parser_timeout": "it took too long to read",
    "parser_memory": "it took too much memory to read",
    "readers_busy": "too many pages were being read",
    "empty_content": "there is no text on it",
    "empty_page": "there is no text on it",
    "empty_body": "there is no text on it",
    "too_few_words": "there is hardly any text on it",
    "boilerplate_only": "there is only the frame of a page, no text",
    "no_browser": "it needs a browser, and none is set up",
    "browser_memory": "it took too much memory to draw",
    "snapshot_missing": "its stored copy is gone",
    "not_in_library": "it is not in the library",
    "not_given": "the file was not handed over, or is no longer kept",
    # what a hosted reader said
    "hosted_unreachable": "the reading service could not be reached",
    "hosted_refused": "the reading service refused it",
    "hosted_rate": "the reading service asked to come back later",
    "hosted_empty": "the reading service found no text",
    "hosted_timeout": "the reading service took too long",
    "hosted_deadline": "the reading service took too long",
    "hosted_site_error": "the site did not answer the reading service",
    "hosted_too_large": "it is too large",
    "hosted_unsupported": "the reading service can't read files of its kind",
    "out_of_credit": "the reading service has no credit left",
    "bad_key": "the key was refused",
    # caps and ends
    "searches": "the cap on searches was reached",
    "pages": "the cap on pages was reached",
    "bytes": "the cap on bytes was reached",
    "tokens": "the cap on tokens was reached",
    "rounds": "the cap on rounds was reached",
    "cost_usd": "the cap on money was reached",
    "daily_usd": "today's money is spent",
    "deadline": "the time was up",
    "web_requests": "the cap on web requests was reached",
    "cancelled": "it was stopped",
    "interrupted": "it was stopped",
    # search engines and models
    "rate_limited": "the service asked to come back later",
    "search_provider_unavailable": "the service did not answer",
    "provider_auth": "the service refused the key",
    "provider_quota": "the service's quota is used up",
    "provider_bad_reply": "the service's answer could not be read",
    "model_unavailable": "the model did not answer",
    "model_bad_output": "the model's answer could not be used",
    "refusal": "the model refused to answer",
    "not_json": "the model's answer was not in the form asked for",
    "wrong_shape": "the model's answer was not in the form asked for",
    "truncated": "the model's answer ended in the middle",
    "empty": "the model's answer was empty",
    "answer_too_large": "the model's answer was far too long",
    "no_usable_claim": "no usable claim was among the model's",
    "model_timeout": "the model took too long",
    "model_connection": "the connection to the model failed",
    "model_overloaded": "the model's server is overloaded",
    "model_server_error": "the model's server failed",
    "model_rate_limited": "the model's provider asked to come back later",
    "model_quota": "the quota at the model's provider is used up",
    "model_auth": "the model's provider refused the key",
    "model_unknown": "the provider has no model of that name",
    "model_context_too_long": "the text was too long for the model",
    "model_rejected": "the model's server refused the request",
    "model_bad_reply": "the answer of the model's server could not be read",
    "model_mode_rejected": "the model's server takes no request of this kind",
    "model_not_set": "no model is set",
    "model_error": "the model failed",
}

# What all reasons share that start or end so.
FAMILIES: Final = (
    ("_unreadable", "it is damaged and could not be read"),
    ("_malformed", "it is damaged and could not be read"),
    ("_broken", "it is damaged and could not be read"),
    ("parser_", "it could not be read"),
    ("browser_", "the browser could not draw it"),
    ("hosted_", "the reading service could not read it"),
    ("archive_", "the archive could not be read"),
    ("search_", "the search engine did not answer in time"),
)


def plural(count: int, noun: str, several: str | None = None) -> str:
    """`1 source`, `2 sources`."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def reason_text(reason: str, code: str = "") -> str:
    """Why something was not read, found or finished, in words; empty when nothing is known.

    Args:
        reason: the fine cause. One that has no words is said as it is, with spaces.
        code: the error's code, for where the cause is unknown.
    """
    name = reason.strip()
    if name in REASONS:
        return REASONS[name]
    status = _STATUS.fullmatch(name)
    if status is not None:
        return _by_status(int(status[1]))
    found = next((words for part, words in FAMILIES if name.startswith(part) or name.endswith(part)), "")
    if found or not _CODE.fullmatch(name):
        return found or name  # words already
    return REASONS.get(code.lower(), "") or (name or code.lower()).replace("_", " ")


def _by_status(status: int) -> str:
    known = STATUSES.get(status)
    if known is not None:
        return known
    return (
        f"the site failed to answer, with status {status}"
        if status >= 500
        else f"the site refused to hand it out, with status {status}"
    )
