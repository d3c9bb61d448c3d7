"""From anything that can go wrong to one line on stderr and an exit code.

2: what was given cannot be used, nothing was written. 1: it was understood but cannot be done. 130: interrupted.
141: whoever read the output went away.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import suppress
from typing import Any, Final

import typer

from comity.doors.cli.help_text import PlainHelpGroup
from comity.doors.cli.output import visible
from comity.model.errors import BadInput, ComityError, StateUnavailable

INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141
# Some releases of typer carry their own click: take the classes from what typer itself gives out.
_USAGE_ERROR: Final = typer.BadParameter.__mro__[1]
_ANY_TYPER_ERROR: Final = typer.BadParameter.__mro__[2]


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


class OutputClosed(Exception):
    """Whoever read our output went away, as `head` does."""


class RootGroup(PlainHelpGroup):
    """The command line as a whole: keeps typer from giving these two events exit codes of its own."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
        except BrokenPipeError:
            raise OutputClosed from None


def exit_code_of(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong, and give the exit code for it."""
    if isinstance(error, OutputClosed | BrokenPipeError):
        _stop_writing()
        return OUTPUT_CLOSED
    if isinstance(error, Interrupted | KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt):
        _tell("interrupted", "interrupted", as_json)
        return INTERRUPTED
    if isinstance(error, typer.Abort):
        _tell("aborted", "nothing was done", as_json)
        return 1
    if isinstance(error, ComityError):
        _tell(error.code, str(error), as_json)
        return error.exit_code
    if isinstance(error, _ANY_TYPER_ERROR):
        return _usage(error, as_json)
    if isinstance(error, OSError):
        _stop_writing_if_full()
        _tell("system_error", _system_sentence(error), as_json)
        return 1
    return _unexpected(error, as_json)


def asks_for_json(arguments: list[str]) -> bool:
    """Whether `--json` is among the options, also where the rest of the line cannot be understood."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _usage(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen already
        return BadInput.exit_code
    message = " ".join(_usage_sentence(error).split())
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    if isinstance(error, _USAGE_ERROR) and context is not None:
        message = f"{message.rstrip('.')} (see {context.command_path} --help)"
    _tell(BadInput.code, message, as_json)
    return BadInput.exit_code


def _usage_sentence(error: Any) -> str:
    """What typer says, but with an option called by its name rather than by its kind of value."""
    param = getattr(error, "param", None)
    if param is None or not error.message or param.param_type_name != "option":
        return str(error.format_message())
    reason = "must be a whole number" if "valid integer" in error.message else error.message
    return f"{param.opts[0]}: {reason.removeprefix('Value error, ')}"


def _unexpected(error: BaseException, as_json: bool) -> int:
    """A fault of ours, or of a database that we did not foresee."""
    wants_traceback = bool(os.environ.get("COMITY_TRACEBACK"))
    from_driver = getattr(error, "orig", None)  # SQLAlchemy wraps what the driver said
    if from_driver is not None:
        _tell(StateUnavailable.code, f"the state cannot be used: {_first_line(from_driver)}", as_json)
    else:
        advice = "" if wants_traceback else "; COMITY_TRACEBACK=1 shows where"
        _tell("unexpected", f"unexpected {type(error).__name__}: {_first_line(error)}{advice}", as_json)
    if wants_traceback:
        traceback.print_exception(error)
    return 1


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no details"])[0]


def _tell(code: str, message: str, as_json: bool) -> None:
    line = json.dumps({"error": code, "message": message}) if as_json else f"comity: {visible(message)}"
    with suppress(OSError):  # there may be nobody left to tell
        print(line, file=sys.stderr, flush=True)


def _system_sentence(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename is not None else what


def _stop_writing() -> None:
    """Send the rest of the output nowhere, so that closing it at exit does not fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _stop_writing_if_full() -> None:
    """The same, if it was stdout that could not take any more."""
    try:
        sys.stdout.flush()
    except OSError:
        _stop_writing()
