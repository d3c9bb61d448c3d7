"""`comity db …`: the age of the state's tables."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import Cell, counted, write_json, write_line, write_pairs
from comity.doors.cli.progress_bars import ProgressBars
from comity.model.errors import BadInput, NotFound

if TYPE_CHECKING:
    from comity.operate.schema import SchemaAge

app = group(
    """Look at the age of the state's tables, and move it.

    A state in a file is brought up to date by itself; a shared one when an operator says so.
    """
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="db", rich_help_panel="State")


@command(app, "upgrade", examples=("comity db upgrade --state postgresql://comity@db.example/comity",))
def upgrade(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A revision, or head.")] = "head",
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the tables forward; makes a state that does not exist yet."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.schema import schema_age, upgrade_schema

    if invocation.is_missing:
        # A target that does not exist must leave no file behind: try it on nothing first.
        with invocation.open_existing(migrate=False) as rehearsal:
            upgrade_schema(rehearsal.database, target)
    with invocation.open_or_make(migrate=False) as opened:
        before = schema_age(opened.database)
        after = upgrade_schema(opened.database, target)
    _write_move(invocation, before, after)


@command(
    app,
    "downgrade",
    examples=("comity db downgrade -1", "comity db downgrade base --yes"),
    ignore_unknown_options=True,  # -1 is a target
)
def downgrade(
    context: typer.Context,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A revision, -1 for one step back, or base for no tables.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take the tables back to an older age. What only the newer tables can hold is deleted."""
    invocation = read_invocation(context, state, as_json)
    if target.startswith("--"):
        raise BadInput(f"No such option: {target} (see comity db downgrade --help)")
    from comity.operate.schema import downgrade_schema, schema_age

    if invocation.is_missing:
        raise NotFound(f"there is no state at {invocation.settings.where}; nothing to take back")
    with invocation.open_or_make(migrate=False) as opened:
        before = schema_age(opened.database)
        if not yes:
            _ask(f"Take {before.where} from schema {before.revision or 'none'} back to {target}? This deletes data.")
        after = downgrade_schema(opened.database, target)
    _write_move(invocation, before, after)


@command(app, "current", examples=("comity db current",))
def current(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show the age of the state's tables, the age that this Comity needs, and where the state is."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.schema import schema_age

    with invocation.open_existing(migrate=False) as opened:
        age = schema_age(opened.database)
    if invocation.is_missing:
        age = replace(age, where=invocation.settings.where)
    if invocation.as_json:
        write_json(_as_json(age))
        return
    revision = Cell(age.revision or "none", "green" if age.is_current else "yellow")
    write_pairs(
        [
            ("revision", revision),
            ("head", age.head),
            ("state", age.where),
        ]
    )
    if age.revision is None:
        write_line(Cell("There are no tables yet; comity db upgrade makes them.", "dim"))
    elif not age.is_current:
        write_line(Cell(f"This Comity needs {age.head}: run comity db upgrade, or a Comity of that age.", "dim"))


@command(
    app,
    "move-frontier",
    examples=(
        "COMITY_REDIS_URL=redis://cache.example/0 comity db move-frontier",
        "comity db move-frontier --back",
    ),
)
def move_frontier(
    context: typer.Context,
    back: Annotated[bool, typer.Option("--back", help="From Redis to the database instead.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the URLs of a shared state from its database to Redis, so that COMITY_REDIS_URL can be used with it.

    With --back, bring them from there into the database, so that Redis can be done without. Every crawl and worker must
    be stopped. A move that is cut off loses nothing; the same command goes on with it.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.move_frontier import move_frontier as move
    from comity.operate.move_frontier import move_frontier_back

    with ProgressBars() as bars, invocation.open_existing() as opened, closing(opened.frontier_in_redis()) as store:
        step = move_frontier_back if back else move
        moved = step(opened.database, opened.clock, store, bars.bar("Moving", None))
    if invocation.as_json:
        write_json({"urls_moved": moved})
    elif back:
        write_line(f"{counted(moved, 'URL')} came to the database; leave COMITY_REDIS_URL out from now on.")
    else:
        write_line(f"{counted(moved, 'URL')} went to Redis; keep COMITY_REDIS_URL set from now on.")


def _ask(question: str) -> None:
    """Let a person decide; a program has to say --yes."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput("db downgrade deletes data: add --yes if that is meant")
    typer.confirm(question, abort=True, err=True)


def _write_move(invocation: Invocation, before: SchemaAge, after: SchemaAge) -> None:
    if invocation.as_json:
        write_json({**_as_json(after), "revision_before": before.revision})
    elif before.revision == after.revision:
        write_line(f"{after.where} is at {after.revision or 'no schema'} already.")
    else:
        write_line(f"{after.where}: {before.revision or 'no schema'} → {after.revision or 'no schema'}.")


def _as_json(age: SchemaAge) -> dict[str, object]:
    return {"revision": age.revision, "head": age.head, "is_current": age.is_current, "state": age.where}
