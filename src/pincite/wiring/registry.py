"""Adapters by name: `module:Class`, imported when first used. A test imports every row.

Each kind is also an entry point group, so that an installed package adds a row of its own: `examples/plugins` has one
of each. Extractors of packages are looked up where bytes are read, by media type (`fetch.extractors`).
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass


@dataclass(frozen=True)
class Registry(Mapping[str, str]):
    """Our rows, then those of installed packages under the entry point `group`: they add names and take none."""

    group: str
    rows: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        # Ours first: the metadata of all installed packages is read for other names only.
        return self.rows[name] if name in self.rows else self._installed()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.rows
        yield from (name for name in self._installed() if name not in self.rows)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _installed(self) -> Mapping[str, str]:
        from importlib.metadata import entry_points

        return {entry.name: entry.value for entry in entry_points(group=self.group)}


_ENGINES: Mapping[str, str] = {
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

_SCRAPERS: Mapping[str, str] = {
    "firecrawl": "pincite.fetch.backends.firecrawl:FirecrawlScraper",
    "zenrows": "pincite.fetch.backends.zenrows:ZenRowsScraper",
    "jina": "pincite.fetch.backends.jina:JinaScraper",
}

# In the order in which people are offered them: for reading, for programs, for lists of literature.
_EXPORTERS: Mapping[str, str] = {
    "html": "pincite.exports.html:HtmlExporter",
    "pdf": "pincite.exports.pdf:PdfExporter",
    "docx": "pincite.exports.docx:DocxExporter",
    "md": "pincite.exports.simple:MarkdownExporter",
    "json": "pincite.exports.simple:JsonExporter",
    "csv": "pincite.exports.simple:CsvExporter",
    "csl.json": "pincite.exports.simple:CslJsonExporter",
    "bib": "pincite.exports.simple:BibtexExporter",
    "ris": "pincite.exports.simple:RisExporter",
}

PROVIDERS = Registry("pincite.search_providers", _ENGINES)
SCRAPERS = Registry("pincite.scrapers", _SCRAPERS)
EXPORTERS = Registry("pincite.exporters", _EXPORTERS)
EMBEDDERS = Registry("pincite.embedders", {"minilm": "pincite.embeddings.local:MiniLm"})
# Ours are named by what they are (a folder, an address).
RERANKERS = Registry("pincite.rerankers", {})
# Ours are named by what they are (a model, an address, a folder); packages bring others by name.
JUDGES = Registry("pincite.judges", {})


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of reports as surfaces offer it; `needs` is the extra that it asks for."""

    name: str
    media_type: str
    title: str
    about: str
    needs: str = ""


BUNDLE: Final = ExportFormat(
    "wacz", "application/wacz", "Evidence bundle", "report and passages in one archive that checks itself"
)


def export_formats() -> tuple[ExportFormat, ...]:
    """Every format that a report can be had in: ours, those of installed packages, and the bundle.

    A format is described by its class. Errors: ImportError and its kin, of a package that can't be imported.
    """
    classes = {name: load(EXPORTERS, name, "format") for name in EXPORTERS}
    formats = (
        ExportFormat(
            name,
            kind.media_type,
            getattr(kind, "title", name),
            getattr(kind, "about", ""),
            getattr(kind, "needs", ""),
        )
        for name, kind in classes.items()
    )
    return (*formats, BUNDLE)


def load(registry: Mapping[str, str], name: str, what: str) -> Any:  # a class of the registry
    """The class registered as `name`. Errors: InvalidInput (there is no such `what`)."""
    if name not in registry:
        raise InvalidInput(f"there is no {what} {name!r}", hint=f"Known: {', '.join(registry)}.")
    module, _, attribute = registry[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def is_place(name: str) -> bool:
    """Whether a folder or an address is meant, and not a name that a package registered."""
    return "/" in name or "\\" in name or name.startswith((".", "~"))
