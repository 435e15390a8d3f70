"""The version of each reader: part of every document's id, and what stored readings are made anew by."""

VERSIONS = {
    "ebooks": "1",
    "html": "19",
    "mail": "3",
    "markdown": "2",
    "office": "5",
    "pdf": "4",
    "preformatted": "5",
    "rtf": "1",
    "structured": "1",
    "shared": "21",
}
"""By module of this package; counted up when that reader reads anything differently.

`shared`: what they have in common, such as telling formats and character sets apart.
"""
REVISION = ",".join(VERSIONS.values())
"""Another one when pages read differently, so that stored readings and indexes are made anew."""
