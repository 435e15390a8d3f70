"""How long each tool may take in all, retries, switches and pauses included. A TIMEOUT names the stage by `reason`."""

from collections.abc import Mapping
from typing import Final

DEADLINES_S: Final[Mapping[str, float]] = {
    "search": 60.0,  # search_total: every engine, retry and pause of one query
    "search_call": 10.0,  # search_call, search_connect, search_answer: one call to one engine
    "hosted_call": 30.0,  # hosted_call, hosted_connect, hosted_answer: one call to a hosted scraper
    "local_search": 55.0,  # a busy machine must not change what a local library answers: wait for it
    "audit_page": 30.0,  # one cited page of an audit or a recheck
    "judge": 10.0,  # judge: one question to a judge's endpoint
}
"""By tool; of those for searches and scrapers these are the defaults of the settings of that name.

The stages of fetching a page are in `fetch.limits`, the deadline of a run is a setting.
"""
