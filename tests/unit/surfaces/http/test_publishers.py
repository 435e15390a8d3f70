"""What the pages of a run say of publishers is what counted when its claims were checked."""

from copy import copy
from dataclasses import replace

import pytest

from pincite.surfaces.http.ui.report_view import ReportView
from pincite.surfaces.progress import Progress
from pincite.testing.reports import sample_report

REPORT = sample_report().report


def view_of(*urls: str) -> ReportView:
    """The view of a report that cites these pages and says nothing."""
    references = tuple(replace(REPORT.references[0], n=n, url=url) for n, url in enumerate(urls, 1))
    view = ReportView(REPORT)
    view.report = copy(REPORT)  # a report that cites what it does not use can't be made
    object.__setattr__(view.report, "references", references)
    return view


@pytest.mark.parametrize(
    ("urls", "shared", "said"),
    [
        (("https://a.example.org/1", "https://b.example.org/2"), ((2,), (1,)), "of one publisher"),
        (("local:lib/a.md", "local:lib/b.md"), ((), ()), "local files: who published them is not known"),
        (("local:lib/a.md", "https://a.example.org/1"), ((), ()), ""),
    ],
)
def test_files_of_one_folder_are_not_said_to_be_of_one_publisher(
    urls: tuple[str, ...], shared: tuple[tuple[int, ...], ...], said: str
) -> None:
    view = view_of(*urls)
    assert tuple(source.same_site for source in view.sources(Progress())) == shared
    told = " ".join(finding.text for finding in view.glance())
    assert (said in told) if said else ("publisher" not in told and "local files" not in told)
