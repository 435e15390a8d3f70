"""The pages of a run cut and indexed once, shared by the extractive roles of that run."""

from collections.abc import Sequence

from pincite.domain.library import Survey
from pincite.domain.plan import ReadPage
from pincite.research.extractive.passages import Passage, cut
from pincite.research.extractive.ranking import PassageIndex


class Shelf:
    """Grows with the pages of its run. Cutting is CPU work: call it from a worker thread, one call at a time."""

    def __init__(self) -> None:
        self._index = PassageIndex()
        self._passages: dict[str, tuple[Passage, ...]] = {}
        self._pages: dict[str, ReadPage] = {}

    def know(self, survey: Survey) -> None:
        """Weigh words by how rare they are in all pages of the libraries, not in those that were read."""
        self._index.know(survey)

    def index(self, pages: Sequence[ReadPage]) -> PassageIndex:
        """The index over these pages; only pages it has not seen are cut."""
        for page in pages:
            self._pages[page.url] = page
            if page.url not in self._passages:
                self._passages[page.url] = cut(page.url, page.document)
                self._index.add(page.url, self._passages[page.url])
        return self._index

    def page(self, url: str) -> ReadPage:
        """The page with this canonical URL."""
        return self._pages[url]
