"""`comity recalculate-priorities`."""

from __future__ import annotations

import typer

from comity.doors.cli.options import JsonOption, StateOption, chosen
from comity.doors.cli.output import counted, write_json, write_line
from comity.doors.cli.teaching import command


def register(root: typer.Typer) -> None:
    """Put the command of this file on the command line."""
    examples = ("comity recalculate-priorities",)
    command(root, "recalculate-priorities", examples=examples, panel="Hosts")(recalculate_priorities)


def recalculate_priorities(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Compute the priority of every host anew.

    Workers do this after every run and every hour; by hand it is useful after a change of the COMITY_WEIGHT_… settings.
    Blocked and unreachable hosts keep their score.
    """
    door = chosen(context, state, as_json)
    from comity.upkeep.rescore import rescore

    with door.open_existing() as opened:
        number = rescore(opened.database, opened.clock, opened.settings.weights, older_than_s=0.0)
    if door.as_json:
        write_json({"hosts": number})
    elif number:
        write_line(f"The priority of {counted(number, 'host')} was looked at anew.")
    else:
        write_line("No hosts are known here yet; there is nothing to compute.")
