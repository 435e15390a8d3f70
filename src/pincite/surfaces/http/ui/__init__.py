"""The web pages: ask, follow, read, check, take away. They work without scripts; scripts only make them quicker."""

from collections import OrderedDict

from fastapi import FastAPI

from pincite.surfaces.http.ui import asking, reading, rendering, signing

__all__ = ["install"]


def install(app: FastAPI) -> None:
    """Add the pages to the server, and errors as pages for those who came with a browser."""
    app.state.error_page = rendering.error_page
    app.state.reports = OrderedDict()
    for module in (rendering, signing, asking, reading):
        app.include_router(module.router, include_in_schema=False)
