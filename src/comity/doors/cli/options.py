"""The options that every command has, the state that they choose, and groups of options that several commands share.

`--state` and `--json` may come before the command or after it. A command checks its input before it opens or creates
anything; a command that only reads never creates a state.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, get_args

import typer

from comity.doors.cli.output import note
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings

EVERYWHERE: Final = "Options of every command"
# Settings and columns whose option has another name.
_OPTIONS: Final = {
    "source_type": "--type",
    "pages": "--into",
    "delay_s": "--delay",
    "fetch_timeout_s": "--timeout",
    "connect_timeout_s": "--connect-timeout",
    "first_byte_timeout_s": "--first-byte-timeout",
    "max_retry_backoff_seconds": "--max-retry-backoff",
    "accept_types": "--accept",
    "reject_types": "--reject",
    "allow_networks": "--allow-network",
    "enable_refresh_mode": "--refresh",
    "idle_timeout_s": "--idle-timeout",
    "headers": "--header",
    "keep_links": "--links",
    "keep_headers": "--headers",
    "cookies": "--cookie",
}
_LONGEST_TEXT: Final = 1000
_LARGEST_NUMBER: Final = 1_000_000_000

StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="FILE|URL",
        help="The state: a file, or the postgresql:// URL of a shared one. Default: COMITY_DATABASE_URL, COMITY_STATE, "
        "or comity-data/state.db.",
        rich_help_panel=EVERYWHERE,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help='Print one JSON document (times in UTC). An error is {"error": …, "message": …} on stderr.',
        rich_help_panel=EVERYWHERE,
    ),
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Show at most N.")]
OptionGroup = Mapping[str, Any]


def option(name: str, metavar: str, text: str, panel: str | None = None) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)


def switch(names: str, text: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(names, help=text, rich_help_panel=panel)


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The options before the command."""

    state: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a command: its settings, from options and environment, and its output format."""

    settings: Settings
    as_json: bool

    @property
    def collapse(self) -> bool:
        """Whether sub-domains count as their registrable domain."""
        return self.settings.collapse_subdomains

    def host(self, text: str) -> str:
        """The canonical name of a host that the user typed; `BadAddress` if it is not a host."""
        from comity.rules.canonical import canonical_host

        return canonical_host(text, collapse=self.collapse).authority

    @property
    def is_missing(self) -> bool:
        """Whether the state is a file that does not exist yet."""
        from comity.assemble import state_file

        path = state_file(self.settings)
        return path is not None and not path.exists()

    @contextmanager
    def open_or_make(self, *, migrate: bool = True, connections: int = 4) -> Iterator[State]:
        """Open the state; a file that does not exist is created."""
        from comity.assemble import open_state

        with open_state(self.settings, migrate=migrate, connections=connections) as state:
            yield state

    @contextmanager
    def open_existing(self, *, migrate: bool = True) -> Iterator[State]:
        """Open the state to read it; one that does not exist is empty, and is not created."""
        from comity.assemble import open_existing_state

        with open_existing_state(self.settings, migrate=migrate) as state:
            yield state


def read_invocation(
    context: typer.Context, state: str | None, as_json: bool, *, warns: bool = True, **options: Any
) -> Invocation:
    """Put the options together and read the settings; opens nothing. Likely mistakes are reported on stderr."""
    in_front = context.find_root().obj or GlobalOptions()
    where = state if state is not None else in_front.state
    # The option overrides both variables of the environment.
    if where is None:
        settings = _read(**options)
    elif "://" in where:
        settings = _read(database_url=where, **options)
    else:
        settings = _read(state=where, database_url="", redis_url="", **options)
    if warns:
        from comity.run.settings_in_force import unknown_variables

        for doubt in unknown_variables(os.environ):
            note(f"comity: {doubt}")
    return Invocation(settings, as_json or in_front.as_json)


def warn_missing_contact(settings: Settings) -> None:
    """Warn on stderr if requests carry no contact."""
    from comity.run.settings_in_force import missing_contact

    doubt = missing_contact(settings)
    if doubt is not None:
        note(f"comity: {doubt}")


def _read(**options: Any) -> Settings:
    """The settings; an error names the option, or the variable of the environment."""
    from comity.settings import read_settings

    with name_options_in_errors(options):
        return read_settings(**options)


@contextmanager
def name_options_in_errors(given: Mapping[str, Any], names: Mapping[str, str] = _OPTIONS) -> Iterator[None]:
    """Name the option in an error, instead of the setting or column behind it."""
    try:
        yield
    except BadInput as problem:
        if problem.field is None or given.get(problem.field) is None:
            raise
        raise problem.renamed(names.get(problem.field, "--" + problem.field.replace("_", "-"))) from None


def checked_text(option: str, text: str | None, longest: int = _LONGEST_TEXT) -> str | None:
    """A remark to store; `BadInput` if it is too long or contains invisible characters."""
    if text is None or not text.strip():
        return None
    if not text.isprintable():
        raise BadInput(f"{option} contains a line break or an invisible character")
    if len(text) > longest:
        raise BadInput(f"{option} is longer than {longest} characters")
    return text.strip()


def check_number(option: str, number: int, least: int, most: int = _LARGEST_NUMBER) -> None:
    """`BadInput` unless a number is within its bounds."""
    if not least <= number <= most:
        raise BadInput(f"{option} must be between {least:,} and {most:,}, not {number}")


def open_stdin() -> TextIO:
    """The standard input; `BadInput` if the caller closed it."""
    if sys.stdin is None:
        raise BadInput("stdin is closed; name a file, or pipe the input into the command")
    return sys.stdin


def takes(**groups: OptionGroup) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of each group; it gets their values as one dict for each group.

    A group maps the names of options to their annotations. They are put into the signature of the command, where typer
    finds them, in place of the parameter that has the name of the group.
    """

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
