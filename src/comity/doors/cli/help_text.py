"""How commands are declared: --help wraps prose, keeps examples as they are, and shows no needless types.

Options that were not given cost nothing: typer would build a validator for each, and a crawl has over fifty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

Function = TypeVar("Function", bound=Callable[..., Any])


class PlainHelpCommand(TyperCommand):
    """A command whose help shows types only where they are useful."""

    def get_params(self, ctx: Any) -> Any:
        """The options and arguments, as --help shows them."""
        return _prepared(super().get_params(ctx))


class PlainHelpGroup(TyperGroup):
    """A group of commands, with the same help."""

    def get_params(self, ctx: Any) -> Any:
        """The options, as --help shows them."""
        return _prepared(super().get_params(ctx))


def group(text: str) -> typer.Typer:
    """A group of commands, with its help text."""
    return typer.Typer(cls=PlainHelpGroup, no_args_is_help=True, help=reflow(text))


def command(
    app: typer.Typer,
    name: str,
    *,
    examples: tuple[str, ...] = (),
    panel: str | None = None,
    short_help: str | None = None,
    kind: type[TyperCommand] = PlainHelpCommand,
    **settings: Any,
) -> Callable[[Function], Function]:
    """Declare a command: its docstring explains it, examples follow its options."""

    def declare(function: Function) -> Function:
        return app.command(
            name,
            cls=kind,
            help=reflow(function.__doc__ or ""),
            short_help=short_help,
            epilog=render_examples(examples) if examples else None,
            rich_help_panel=panel,
            context_settings=settings or None,
        )(function)

    return declare


def reflow(text: str) -> str:
    """Prose with one line per paragraph, for the terminal to wrap."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    return "\n\n".join(paragraphs)


def render_examples(lines: tuple[str, ...], title: str | None = None) -> str:
    """Commands to try, under a title, each on its own line."""
    heading = title or ("Example" if len(lines) == 1 else "Examples")
    # The empty line in front keeps the indentation: typer dedents all lines but the first.
    return f"\n[bold]{heading}[/]\n\n" + "\n".join("  " + line.replace("[", "\\[") for line in lines)


def _prepared(params: Any) -> Any:
    """Remove types that tell a reader nothing: <bool> of a flag, <str> of an argument; skip what was not given."""
    for param in params:
        if "process_value" not in vars(param) and param.callback is None and not param.required:
            param.process_value = partial(_value_if_given, param, param.process_value)
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
        elif param.param_type_name == "argument":
            param.display_type_rich = _no_type
    return params


def _value_if_given(param: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """The value of an option or argument; None, or an empty list, needs no conversion."""
    if value is None:
        return () if param.multiple or param.nargs == -1 else None
    return process(ctx, value)


def _no_type(ctx: Any) -> None:
    """Show no type."""
