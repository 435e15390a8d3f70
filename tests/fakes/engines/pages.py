"""The pages that the fakes know, and how they are found: by words in common, nothing more."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FakePage:
    """One page; `published` is an ISO date or empty."""

    url: str
    title: str
    text: str
    published: str = ""


PAGES: tuple[FakePage, ...] = (
    FakePage(
        "https://docs.example.org/pool",
        "Connection pool settings",
        "How to configure the connection pool: size, timeout and recycling of idle connections.",
        "2026-10-02",
    ),
    FakePage(
        "https://docs.example.org/timeouts",
        "Timeouts",
        "Statement and lock timeouts, and how the connection pool treats a timeout.",
        "2026-09-14",
    ),
    FakePage(
        "https://blog.example.com/pool-tuning",
        "Tuning a connection pool",
        "What we measured while tuning a connection pool under load.",
        "2025-03-20",
    ),
    FakePage(
        "https://news.example.net/release-9",
        "Version 9 released today",
        "The project announced the release of version 9 with faster queries.",
        "2026-11-20",
    ),
    FakePage(
        "https://papers.example.edu/caching",
        "A survey of caching strategies",
        "This paper compares caching strategies for databases.",
        "2024-05-01",
    ),
    FakePage(
        "https://forum.example.com/t/42",
        "Error E421 on startup",
        "The server raises error E421 when the schema is older than the index.",
    ),
    FakePage("https://shop.example.com/garden", "Garden furniture", "Chairs and tables for the garden."),
)


def best_pages(pages: Sequence[FakePage], text: str, count: int) -> Sequence[FakePage]:
    """Up to `count` pages with words of the text, most first; `site:` operators are obeyed."""
    wanted = set(re.findall(r"(?<![-\w:])site:([\w.-]+)", text))
    unwanted = set(re.findall(r"-site:([\w.-]+)", text))
    words = set(re.findall(r"[a-z0-9]{3,}", re.sub(r"-?site:\S+", "", text).lower()))
    scored = []
    for page in pages:
        host = page.url.split("/")[2]
        if (wanted and not any(_within(host, domain) for domain in wanted)) or any(_within(host, d) for d in unwanted):
            continue
        found = words & set(re.findall(r"[a-z0-9]{3,}", f"{page.title} {page.text}".lower()))
        if found:
            scored.append((len(found), page))
    return [page for _, page in sorted(scored, key=lambda pair: -pair[0])[:count]]


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)
