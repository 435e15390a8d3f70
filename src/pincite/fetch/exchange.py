"""One request to a page's host and its answer."""

from dataclasses import field

from pincite.domain.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `headers` are lower-case names in wire order; `body` is decoded."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    wire_bytes: int
    truncated: bool = False

    def header(self, name: str) -> str:
        """The first value of a header, or an empty text."""
        return next((value for key, value in self.headers if key == name), "")

    def all_headers(self, name: str) -> tuple[str, ...]:
        """Every value of a header in wire order."""
        return tuple(value for key, value in self.headers if key == name)
