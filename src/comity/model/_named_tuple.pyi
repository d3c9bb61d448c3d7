from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

FORMAT: int

def made_in_c(class_: _Class, /) -> _Class: ...
