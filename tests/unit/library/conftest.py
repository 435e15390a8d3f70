"""Small libraries for the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.fakes.extractor import TinyExtractor

from pincite.library.local import LocalLibrary

Open = Callable[..., LocalLibrary]


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Open]:
    """Opens libraries with the tiny extractor in this process and closes them at the end."""
    with ExitStack() as stack:

        def make(
            path: Path, *, workers: int = 0, extractor: TinyExtractor | None = None, **more: object
        ) -> LocalLibrary:
            library = LocalLibrary(
                path,
                index_dir=tmp_path / "indexes",
                extractor=extractor or TinyExtractor(),
                workers=workers,
                **more,  # type: ignore[arg-type]  # passed through
            )
            return stack.enter_context(library)

        yield make
