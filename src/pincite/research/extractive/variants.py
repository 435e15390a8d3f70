"""Queries again under the constraints of a task: put to single sites, or with the years of the period in words."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.search import Constraints, Query

# Each site is a search of its own.
_MOST_SITES = 3


def variants(queries: Sequence[Query], constraints: Constraints) -> tuple[Query, ...]:
    """The first query once for each preferred or single allowed site, and once with the years of the period.

    Engines rank a whole list of sites as one: a site asked alone gets its turn. Pages often carry their year in the
    text where they carry no date.
    """
    if not queries:
        return ()
    first = queries[0]
    sites = constraints.prefer_domains or (constraints.include_domains if len(constraints.include_domains) > 1 else ())
    found = [
        replace(first, constraints=replace(constraints, include_domains=(site,), prefer_domains=()))
        for site in sites[:_MOST_SITES]
    ]
    years = sorted({day.year for day in (constraints.since, constraints.until) if day is not None})
    if years:
        found.append(replace(first, text=" ".join([first.text, *map(str, years)])))
    return tuple(found)
