"""The references as CSL-JSON, which citation managers and pandoc read."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from pincite.domain.events import Json
from pincite.domain.markdown import one_line
from pincite.domain.page import Document
from pincite.domain.report import Reference, Report
from pincite.exports.bibliography import doi, keys, provenance, site


class CslJsonExporter:
    """The reference list as an array of CSL items.

    Source: CSL-JSON schema 1.0, item type `webpage`.
    """

    media_type = "application/vnd.citationstyles.csl+json"

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The array as UTF-8 JSON."""
        names = keys(report.references)
        items = [_item(reference, names[reference.n]) for reference in report.references]
        return (json.dumps(items, ensure_ascii=False, indent=2) + "\n").encode()


def _item(reference: Reference, key: str) -> dict[str, Json]:
    item: dict[str, Json] = {"id": key, "type": "webpage", "title": one_line(reference.title or reference.url)}
    if reference.author:
        item["author"] = [{"literal": one_line(reference.author)}]
    if reference.published_at:
        item["issued"] = _date(reference.published_at)
    item["accessed"] = _date(reference.accessed_at)
    if name := site(reference.url):
        item["container-title"] = one_line(name)
    item["URL"] = one_line(reference.url)
    if number := doi(reference.url):
        item["DOI"] = one_line(number)
    item["note"] = one_line(provenance(reference))
    return item


def _date(moment: datetime) -> dict[str, Json]:
    at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return {"date-parts": [[at.year, at.month, at.day]]}
