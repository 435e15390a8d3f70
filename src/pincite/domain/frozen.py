"""`dataclass`, as Python's own in everything that can be seen of it, at a fifth of the time that it takes to load.

A command loads 250 frozen classes, and Python writes and compiles six methods for each: a quarter of all that a short
command takes (ADR 0031). Here `__init__` alone is compiled with the class, the others when something first compares,
hashes or prints one. Making an instance takes less time too: the slots are filled as such, not by `object.__setattr__`.
"""

import dataclasses
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As `dataclasses.dataclass`, which makes what is not frozen, has no slots or has an `InitVar`."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if not (options.get("frozen") and options.get("slots")) or _takes_more(cls):
            return dataclasses.dataclass(cls, **options)
        return _frozen(cls, **{name: value for name, value in options.items() if name != "frozen"})


class _Factory:
    """Stands in a signature for what is made anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _takes_more(cls: type) -> bool:
    """Whether something is given to `__init__` that is no field."""
    if sys.version_info >= (3, 14):  # PEP 649: annotations are no longer in the class's own namespace
        import annotationlib

        found = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    else:
        found = vars(cls).get("__annotations__", {})
    return any(
        "InitVar" in hint if isinstance(hint, str) else isinstance(hint, dataclasses.InitVar) for hint in found.values()
    )


def _frozen(cls: type, **options: Any) -> type:
    own = vars(cls)
    if not cls.__doc__:
        cls.__doc__ = f"{cls.__name__}."  # Python's own would work out a signature to print here
    made: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    fields = dataclasses.fields(made)
    compared = [field.name for field in fields if field.compare]
    hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    printed = [field.name for field in fields if field.repr]
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in printed)
    methods: dict[str, Callable[..., Any]] = {
        "__init__": _init(made, fields),
        "__repr__": _late(made, "__repr__", "self", f'f"{{self.__class__.__qualname__}}({shown})"'),
        "__eq__": _late(
            made,
            "__eq__",
            "self, other",
            f"{_values('self', compared)} == {_values('other', compared)}"
            " if other.__class__ is self.__class__ else NotImplemented",
        ),
        "__hash__": _late(made, "__hash__", "self", f"hash({_values('self', hashed)})"),
        "__setattr__": _no_change,
        "__delattr__": _no_change,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    for name, method in methods.items():
        # What a class defines itself stays: `Report` compares and prints as it says.
        if own.get(name) is None:  # a class with its own __eq__ has None for __hash__
            setattr(made, name, method)
    return made


def _values(of: str, names: list[str]) -> str:
    return f"({''.join(f'{of}.{name},' for name in names)})"


def _late(cls: type, name: str, parameters: str, value: str) -> Callable[..., Any]:
    """A method that is compiled at its first call."""

    def first(*arguments: Any) -> Any:
        method = _compiled(cls, name, f"def {name}({parameters}): return {value}", {})
        setattr(cls, name, method)
        return method(*arguments)

    first.__name__, first.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return first


def _init(cls: type, fields: tuple["dataclasses.Field[Any]", ...]) -> Callable[..., Any]:
    known: dict[str, Any] = {"_FACTORY": _FACTORY}
    by_place: list[str] = ["self"]
    by_name: list[str] = []
    body: list[str] = []
    for field in fields:
        name, value, default = field.name, field.name, ""
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"], default = field.default, f"=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"], default = field.default_factory, "=_FACTORY"
            value = f"_make_{name}() if {name} is _FACTORY else {name}" if field.init else f"_make_{name}()"
        if field.init:
            (by_name if field.kw_only else by_place).append(name + default)
        elif not default:
            continue
        elif field.default is not dataclasses.MISSING:
            value = f"_default_{name}"
        # The slot's own setter: `__setattr__` of a frozen class refuses everybody, its constructor included.
        known[f"_set_{name}"] = getattr(cls, name).__set__
        body.append(f" _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    method = _compiled(cls, "__init__", f"def __init__({parameters}):\n" + "\n".join(body or [" pass"]), known)
    # For `inspect.signature` and for pydantic, which read them off `__init__`.
    method.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return method


def _compiled(cls: type, name: str, source: str, known: dict[str, Any]) -> Callable[..., Any]:
    exec(source, known)  # noqa: S102  # the names of a class's own fields, as Python's dataclass does
    method: Callable[..., Any] = known[name]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _no_change(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
