"""Our `dataclass` beside Python's own: nothing that can be seen of a class differs."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import InitVar, field
from typing import Any, ClassVar, get_type_hints

import pytest

from pincite.domain import frozen

OURS, THEIRS = frozen.dataclass, dataclasses.dataclass


def classes(dataclass: Any) -> list[Any]:
    """The same classes, made by one or the other."""

    @dataclass(frozen=True, slots=True)
    class Plain:
        name: str
        count: int = 1

    @dataclass(frozen=True, slots=True)
    class Fields:
        """With all that a field can say."""

        kind: ClassVar[str] = "k"
        key: str
        made: list[int] = field(default_factory=list, hash=False)
        silent: str = field(default="s", repr=False, compare=False)
        own: int = field(default=7, init=False)
        built: dict[str, int] = field(default_factory=dict, init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "key", self.key.upper())

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Base:
        cap: float = 1.5

    @dataclass(frozen=True, slots=True)
    class Child(Base):
        name: str = "child"

    @dataclass(frozen=True, slots=True)
    class OwnMethods:
        name: str

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "mine"

    @dataclass(frozen=True, slots=True)
    class OwnHash:
        name: str

        def __hash__(self) -> int:
            return 5

    @dataclass(frozen=True, slots=True)
    class Sealed:
        name: str
        seal: InitVar[object]

        def __post_init__(self, seal: object) -> None:
            if seal is not OURS:
                raise ValueError("not sealed")

    @dataclass(slots=True)
    class Mutable:
        name: str

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return [Plain, Fields, Child, OwnMethods, OwnHash, Sealed, Mutable, Empty]


MADE: dict[str, tuple[Any, Any]] = {
    ours.__name__: (ours, theirs) for ours, theirs in zip(classes(OURS), classes(THEIRS), strict=True)
}


def instances(made: Any) -> list[Any]:
    match made.__name__:
        case "Fields":
            return [made("a"), made("a", [1]), made("a", silent="t"), made("b"), made(key="b", made=[])]
        case "Sealed":
            return [made("a", OURS), made("b", seal=OURS)]
        case "Empty":
            return [made(), made()]
        case "Child":
            return [made("a"), made("a", cap=1.5), made("a", cap=2.0)]
        case _:
            return [made("a"), made(name="a"), made("b")]


@pytest.mark.parametrize("name", MADE)
def test_instances_look_compare_and_hash_the_same(name: str) -> None:
    ours, theirs = ([*map(instances, MADE[name])][side] for side in (0, 1))
    assert [repr(one) for one in ours] == [repr(one) for one in theirs]
    assert [[one == other for other in ours] for one in ours] == [[one == other for other in theirs] for one in theirs]
    assert [one == "text" for one in ours] == [one == "text" for one in theirs]
    assert [dataclasses.asdict(one) for one in ours] == [dataclasses.asdict(one) for one in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        if other.__hash__ is None:
            assert mine.__hash__ is None
        else:
            assert hash(mine) == hash(other)


@pytest.mark.parametrize("name", MADE)
def test_classes_say_the_same_of_themselves(name: str) -> None:
    ours, theirs = MADE[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert str(get_type_hints(ours)) == str(get_type_hints(theirs))  # no InitVar equals another
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert [field.name for field in dataclasses.fields(ours)] == [field.name for field in dataclasses.fields(theirs)]


@pytest.mark.parametrize("name", sorted(set(MADE) - {"Mutable", "Empty"}))
def test_what_is_frozen_stays_as_it_was_made(name: str) -> None:
    made = instances(MADE[name][0])[0]
    first = dataclasses.fields(made)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError, match=first):
        setattr(made, first, "x")
    with pytest.raises(dataclasses.FrozenInstanceError, match=first):
        delattr(made, first)


@pytest.mark.parametrize("arguments", [(), ("a", 1, "s", "more")])
def test_wrong_arguments_are_refused_as_by_any_function(arguments: tuple[Any, ...]) -> None:
    for made in MADE["Fields"]:
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            made(*arguments)


def test_one_class_never_equals_another() -> None:
    assert MADE["Plain"][0]("a") != MADE["Plain"][1]("a")


@frozen.dataclass(frozen=True, slots=True)
class Kept:
    """Of a module, so that it can be pickled."""

    name: str
    parts: tuple[int, ...] = ()


def test_instances_are_replaced_copied_and_pickled() -> None:
    kept = Kept("a", (1, 2))
    assert dataclasses.replace(kept, name="b") == Kept("b", (1, 2))
    assert copy.deepcopy(kept) == copy.copy(kept) == pickle.loads(pickle.dumps(kept)) == kept
