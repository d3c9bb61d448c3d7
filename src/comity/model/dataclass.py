"""Dataclasses that are cheap to define: `dataclass` as in the standard library, with what Comity uses of it.

The standard library compiles up to six methods for each class when the class is defined: for the 210 of a crawl, this
was a fifth of the start. Here all classes share their methods, and `__init__` is compiled when a class is first called,
which most are not in one run. Instances behave the same, and so do `fields`, `replace` and `asdict`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, Final, TypeVar, cast, dataclass_transform

_Class = TypeVar("_Class", bound=type)
_Values = Callable[[Any], tuple[Any, ...]]
_NO_DOCSTRING: Final = "(no description)"  # without one, the standard library would spell out a signature
_NOT_GIVEN: Final = object()


@dataclass_transform(field_specifiers=(field,))
def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[_Class], _Class]:
    """Make a dataclass of a class; the arguments mean what they mean in the standard library."""

    def made(given: _Class) -> _Class:
        own = dict(given.__dict__)
        if given.__doc__ is None:
            given.__doc__ = _NO_DOCSTRING
        cls: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(given)
        if "__init__" not in own:
            cls.__init__ = _init_when_called(cls, frozen)
        if "__repr__" not in own:
            cls.__repr__ = _repr
        if eq and "__eq__" not in own:
            cls.__eq__ = _eq_of(_values_of(cls, lambda each: each.compare))
        # Python itself sets it to None where a class defines `__eq__` alone.
        if eq and (own.get("__hash__") is None if "__eq__" in own else "__hash__" not in own):
            cls.__hash__ = _hash_of(_values_of(cls, _is_hashed)) if frozen else None
        if frozen:
            _freeze(cls)
            if slots and "__getstate__" not in own:  # or it could not be copied and pickled
                cls.__getstate__, cls.__setstate__ = _state, _set_state
        return cast("_Class", cls)

    return made


def _init_when_called(cls: Any, frozen: bool) -> Callable[..., None]:
    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        cls.__init__ = _init_of(cls, frozen)
        cls.__init__(self, *values, **named)

    return __init__


def _init_of(cls: Any, frozen: bool) -> Callable[..., None]:
    """Compile the function that sets the fields."""
    known: dict[str, Any] = {"_not_given": _NOT_GIVEN, "_set": object.__setattr__}
    parameters: list[str] = []
    further: list[str] = []
    lines: list[str] = []
    annotations: dict[str, Any] = {}
    for each in dataclasses.fields(cls):
        name, value = each.name, each.name
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _not_given else {name}" if each.init else f"_make_{name}()"
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            value = name if each.init else f"_default_{name}"
        elif not each.init:
            continue
        if each.init:
            (further if each.kw_only else parameters).append(name + _default_of(each))
            annotations[name] = each.type
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    text = ", ".join(["self", *parameters, *(["*", *further] if further else [])])
    exec("\n".join((f"def __init__({text}):", *lines, " pass")), known)  # noqa: S102  # names of our own fields
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**annotations, "return": None}
    return made


def _default_of(each: Field[Any]) -> str:
    if each.default_factory is not MISSING:
        return "=_not_given"
    return f"=_default_{each.name}" if each.default is not MISSING else ""


@recursive_repr("...")
def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _is_hashed(each: Field[Any]) -> bool:
    return each.compare if each.hash is None else each.hash


def _values_of(cls: Any, counts: Callable[[Field[Any]], bool]) -> _Values:
    """What gives the values of some fields as a tuple."""
    names = [each.name for each in dataclasses.fields(cls) if counts(each)]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple([getattr(self, name) for name in names])


def _eq_of(values: _Values) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_of(values: _Values) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _freeze(cls: Any) -> None:
    """Refuse to change instances."""
    names = frozenset(each.name for each in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
