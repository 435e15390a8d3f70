"""Adapters by name: `module:Class`, imported when first used. A test imports every row."""

import importlib
from collections.abc import Mapping
from typing import Any

from pincite.domain.errors import InvalidInput

PROVIDERS: Mapping[str, str] = {
    "tavily": "pincite.search.providers.tavily:Tavily",
    "exa": "pincite.search.providers.exa:Exa",
    "brave": "pincite.search.providers.brave:Brave",
    "serper": "pincite.search.providers.serper:Serper",
    "searxng": "pincite.search.providers.searxng:SearXng",
    "duckduckgo": "pincite.search.providers.duckduckgo:DuckDuckGo",
    "firecrawl": "pincite.search.providers.firecrawl:Firecrawl",
    "jina": "pincite.search.providers.jina:Jina",
    "wikipedia": "pincite.search.providers.wikipedia:Wikipedia",
    "marginalia": "pincite.search.providers.marginalia:Marginalia",
}

SCRAPERS: Mapping[str, str] = {
    "firecrawl": "pincite.fetch.backends.firecrawl:FirecrawlScraper",
    "zenrows": "pincite.fetch.backends.zenrows:ZenRowsScraper",
    "jina": "pincite.fetch.backends.jina:JinaScraper",
}

EXPORTERS: Mapping[str, str] = {
    "md": "pincite.exports.simple:MarkdownExporter",
    "json": "pincite.exports.simple:JsonExporter",
    "html": "pincite.exports.html:HtmlExporter",
    "csv": "pincite.exports.simple:CsvExporter",
    "csl.json": "pincite.exports.bibliography:CslJsonExporter",
    "bib": "pincite.exports.bibliography:BibtexExporter",
    "ris": "pincite.exports.bibliography:RisExporter",
    "docx": "pincite.exports.docx:DocxExporter",
    "pdf": "pincite.exports.pdf:PdfExporter",
}

EMBEDDERS: Mapping[str, str] = {"minilm": "pincite.embeddings.minilm:MiniLm"}


def load(registry: Mapping[str, str], name: str, what: str) -> Any:  # a class of the registry
    """The class registered as `name`.

    Errors:
        InvalidInput: there is no such `what`.
    """
    if name not in registry:
        raise InvalidInput(f"there is no {what} {name!r}", hint=f"Known: {', '.join(registry)}.")
    module, _, attribute = registry[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
