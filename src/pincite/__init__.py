"""Deep web research you can check.

The public names of Pincite, imported on first use so that `import pincite` stays light.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pincite.domain import errors as errors
    from pincite.fetch.extractors import extract as extract
    from pincite.fetch.robots import robots_verdict as robots_verdict
    from pincite.urls.keys import url_key as url_key
    from pincite.urls.policy import vet_url as vet_url
    from pincite.verification.checker import check_claim as check_claim

_HOMES: dict[str, tuple[str, str | None]] = {
    "check_claim": ("pincite.verification.checker", "check_claim"),
    "errors": ("pincite.domain.errors", None),
    "extract": ("pincite.fetch.extractors", "extract"),
    "robots_verdict": ("pincite.fetch.robots", "robots_verdict"),
    "url_key": ("pincite.urls.keys", "url_key"),
    "vet_url": ("pincite.urls.policy", "vet_url"),
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    from importlib import import_module

    module_name, attribute = _HOMES[name]
    module = import_module(module_name)
    value = module if attribute is None else getattr(module, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
