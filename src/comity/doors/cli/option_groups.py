"""Groups of options that several commands share: a command takes a group as one argument, a dict.

A group maps the names of options to their annotations. `takes` puts them into the signature of a command, where typer
finds them, in place of the parameter that has the name of the group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_args

OptionGroup = Mapping[str, Any]


def takes(**groups: OptionGroup) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of each group; it gets their values as one dict for each group."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        assert groups.keys() <= own.parameters.keys(), "a command needs a parameter for each of its groups"

        def command(**given: Any) -> None:
            taken = {group: {name: given.pop(name) for name in options} for group, options in groups.items()}
            function(**given, **taken)

        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            options = groups.get(parameter.name)
            if options is None:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            else:
                parameters += [_parameter(name, annotation) for name, annotation in options.items()]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__module__ = function.__module__
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads it
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    """An option as a parameter; a switch that cannot be unset is off by default."""
    default = False if get_args(annotation)[0] is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def used(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were used."""
    return {name: value for name, value in options.items() if value is not None}
