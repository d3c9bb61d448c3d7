"""Errors become one line on stderr and an exit code.

2: the input cannot be used, and nothing was written. 1: it was understood, but cannot be done. 130: interrupted.
141: the reader of the output is gone.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import replace
from traceback import walk_tb
from typing import Any, Final

import typer

from comity.doors.cli.help_text import PlainHelpGroup
from comity.doors.cli.output import visible, write_stderr
from comity.model.errors import BadInput
from comity.run.remedies import CommandFailure, describe_failure
from comity.run.signals import INTERRUPTED

OUTPUT_CLOSED: Final = 141
# Some releases of typer bundle their own click, so the classes are taken from typer itself.
_USAGE_ERROR: Final = typer.BadParameter.__mro__[1]
_ANY_TYPER_ERROR: Final = typer.BadParameter.__mro__[2]
# Sentences of typer, and how we say the same.
_REWORDED: Final = (
    (re.compile(r" \(Possible options: ([^,()]+)\)$"), r"; did you mean \1?"),
    (re.compile(r" \(Possible options: (.+), ([^,]+)\)$"), r"; did you mean \1 or \2?"),
    (re.compile(r"\. Did you mean "), "; did you mean "),
    (re.compile(r"^Got unexpected extra argument(?:s|\(s\))? \((.+)\)$"), r"unexpected argument: \1"),
)


class UserInterrupt(Exception):
    """The user pressed Ctrl-C."""


class OutputClosed(Exception):
    """The program that read the output has ended, as `head` does."""


class RootGroup(PlainHelpGroup):
    """The whole command line; keeps typer from giving these two events exit codes of its own."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise UserInterrupt from None
        except BrokenPipeError:
            raise OutputClosed from None


def exit_code_of(error: BaseException, *, as_json: bool) -> int:
    """Report what went wrong; returns the exit code."""
    if isinstance(error, OutputClosed | BrokenPipeError):
        _stop_writing()
        return OUTPUT_CLOSED
    if isinstance(error, UserInterrupt | KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt):
        _write_error("interrupted", "interrupted", as_json)
        return INTERRUPTED
    if isinstance(error, typer.Abort):
        _write_error("aborted", "nothing was done", as_json)
        return 1
    if isinstance(error, _ANY_TYPER_ERROR):
        return _usage(error, as_json)
    failure = describe_failure(error)
    if isinstance(error, OSError) and error.filename is None and _is_of_output(error):
        failure = replace(failure, message=f"the output cannot be written: {error.strerror}")
    report_failure(failure, as_json=as_json)
    return failure.exit_code


def report_failure(failure: CommandFailure, *, as_json: bool) -> None:
    """Write what went wrong on stderr: one line, and the traceback if it was asked for."""
    _write_error(failure.code, failure.message, as_json)
    if failure.details:
        with suppress(OSError):
            write_stderr(failure.details)


def asks_for_json(arguments: list[str]) -> bool:
    """Whether `--json` is among the options, even if the rest of the line cannot be parsed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or "--json-lines" in options


def _usage(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is already on the screen
        return BadInput.exit_code
    message = " ".join(_usage_sentence(error).split())
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    if isinstance(error, _USAGE_ERROR) and context is not None:
        message = f"{message.rstrip('.')} (see {context.command_path} --help)"
    _write_error(BadInput.code, message, as_json)
    return BadInput.exit_code


def _usage_sentence(error: Any) -> str:
    """The message of typer, but with the name of the option instead of its kind of value."""
    param = getattr(error, "param", None)
    if param is None or not error.message or param.param_type_name != "option":
        sentence = str(error.format_message())
        for theirs, ours in _REWORDED:
            sentence = theirs.sub(ours, sentence)
        return sentence
    kinds = {"valid integer": "must be a whole number", "valid number": "must be a number"}
    reason = next((words for kind, words in kinds.items() if kind in error.message), error.message)
    return f"{param.opts[0]}: {reason.removeprefix('Value error, ')}"


def _write_error(code: str, message: str, as_json: bool) -> None:
    line = json.dumps({"error": code, "message": message}) if as_json else f"comity: {visible(message)}"
    with suppress(OSError):  # the reader of stderr may be gone
        write_stderr(line)


def _stop_writing() -> None:
    """Discard the rest of the output, so that closing it at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _is_of_output(error: OSError) -> bool:
    """Whether stdout could not be written, for example because its disk is full; then the rest is discarded."""
    try:
        sys.stdout.flush()
    except OSError:
        _stop_writing()
        return True
    frames = [frame for frame, _line in walk_tb(error.__traceback__)]  # without a buffer, `print` itself fails
    return str(frames[-1].f_globals["__name__"]).startswith("comity.doors.cli.")
