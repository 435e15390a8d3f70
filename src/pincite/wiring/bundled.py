"""The small library that comes with the package: real pages to try everything on, without a network."""

from importlib import resources
from pathlib import Path
from typing import Final

from pincite.domain.errors import LibraryNotFound

NAME: Final = "postgresql-python-docs.warc.gz"
QUESTION: Final = "What is the default isolation level in PostgreSQL, and what can a query see in it?"
"""A question that its pages answer."""


def bundled_library() -> Path:
    """Where its file is: in the installed package, or in the source tree that the package is run from.

    Errors:
        LibraryNotFound: a package that was put together without it.
    """
    packaged = Path(str(resources.files("pincite"))) / "examples" / NAME
    in_tree = Path(__file__).parents[3] / "examples" / NAME
    for path in (packaged, in_tree):
        if path.is_file():
            return path
    raise LibraryNotFound("this package came without its example library", hint="Name your own: --source local:PATH")
