"""What a user of the library needs stands at its root: the engine's types, and every error."""

import dataclasses
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pincite
from pincite import archive, engine, services
from pincite.domain import errors
from pincite.domain.errors import PinciteError, leaves

HOMES = (archive, engine, services)


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything of the engine that a user calls."""
    for name, member in inspect.getmembers(pincite.Engine):
        if not name.startswith("_") or name == "__init__":
            function: Any = member.fget if isinstance(member, property) else member
            yield name, getattr(function, "__func__", function)


def imported_for_types() -> dict[str, object]:
    """The names that the engine's modules import for type checkers alone."""
    found: dict[str, object] = {}
    for home in HOMES:
        for line in inspect.getsource(home).splitlines():
            words = line.split()
            if line.startswith("    from pincite") and words[2:3] == ["import"]:
                module = importlib.import_module(words[1])
                found |= {name.strip(","): getattr(module, name.strip(",")) for name in words[3:]}
    return found | {"Json": dict}  # an alias that names itself, which `get_type_hints` can't resolve


def ours(hint: object) -> Iterator[type]:
    """The classes of Pincite in an annotation."""
    for part in typing.get_args(hint):
        yield from (found for item in (part if isinstance(part, list) else [part]) for found in ours(item))
    if isinstance(hint, type) and hint.__module__.startswith("pincite."):
        yield hint


def needed() -> dict[type, str]:
    """Every type of ours that the engine takes or returns, and those that what it takes is made of."""
    names = imported_for_types()
    found: dict[type, str] = {}
    for name, method in methods():
        for argument, hint in typing.get_type_hints(method, localns=names).items():
            for type_ in ours(hint):
                found[type_] = f"{name}: {argument}"
                if argument != "return" and dataclasses.is_dataclass(type_) and type_ is not pincite.Report:
                    for field, inner in typing.get_type_hints(type_).items():
                        found |= dict.fromkeys(ours(inner), f"{type_.__name__}.{field}")
    return found


def test_every_type_of_the_engine_is_at_the_root() -> None:
    types = needed()
    assert len(types) > 30, "the walk found too little"
    missing = {f"{type_.__name__} ({where})" for type_, where in types.items() if not hasattr(pincite, type_.__name__)}
    assert missing == set()
    assert all(getattr(pincite, type_.__name__) is type_ for type_ in types)


@pytest.mark.parametrize("error", [PinciteError, *leaves()], ids=lambda error: error.__name__)
def test_every_error_is_at_the_root(error: type[PinciteError]) -> None:
    assert getattr(pincite, error.__name__) is error


def test_what_is_announced_is_there() -> None:
    assert [name for name in dir(pincite) if getattr(pincite, name, None) is None] == []
    namespace: dict[str, object] = {}
    exec("from pincite import *", namespace)
    assert set(dir(pincite)) <= namespace.keys()
    with pytest.raises(AttributeError, match="no attribute 'Engin'"):
        getattr(pincite, "Engin")  # noqa: B009  # type checkers know better


def test_type_checkers_see_the_same_names() -> None:
    source = inspect.getsource(pincite)
    typed = {
        line.partition("  #")[0].split()[-1] for line in source.splitlines() if line.startswith("    from pincite")
    }
    all_errors = {
        name for name, found in vars(errors).items() if inspect.isclass(found) and found.__module__ == errors.__name__
    }
    assert (typed - {"*"}) | {"__version__"} | all_errors == set(dir(pincite))
