"""Every reader's version is in the revision that stored readings and indexes go by."""

from importlib import import_module

from pincite.fetch.extractors import VERSIONS, BytesExtractor


def test_each_reader_has_the_version_of_the_table() -> None:
    readers = {name: import_module(f"pincite.fetch.extractors.{name}") for name in VERSIONS if name != "shared"}
    assert {name: reader.VERSION for name, reader in readers.items()} == {
        name: version for name, version in VERSIONS.items() if name != "shared"
    }
    assert BytesExtractor.revision.split(",") == list(VERSIONS.values())
