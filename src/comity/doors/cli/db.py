"""`comity db …`: the schema of the state, and where its URLs are stored."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, read_invocation
from comity.doors.cli.output import Cell, ProgressBars, write_json, write_line, write_pairs
from comity.model.errors import BadInput, NotFound
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.operate.schema import SchemaAge

app = group(
    """Show and migrate the schema of the state.

    A state in a file is migrated automatically; a shared state is migrated by an operator.
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
    """Upgrade the schema; a state that does not exist is created."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.schema import schema_age, upgrade_schema

    if invocation.is_missing:
        # A target that does not exist must not create a file, so it is tried on an empty state first.
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
        str, typer.Argument(metavar="TARGET", help="A revision, -1 for one step back, or base to remove all tables.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Downgrade the schema to an older revision. Data that only the newer schema can hold is deleted."""
    invocation = read_invocation(context, state, as_json)
    if target.startswith("--"):
        raise BadInput(f"no such option: {target} (see comity db downgrade --help)")
    from comity.operate.schema import downgrade_schema, schema_age

    if invocation.is_missing:
        raise NotFound(f"there is no state at {invocation.settings.where}, so there is nothing to downgrade")
    with invocation.open_or_make(migrate=False) as opened:
        before = schema_age(opened.database)
        if not yes:
            _ask(f"Downgrade {before.where} from schema {before.revision or 'none'} to {target}? This deletes data.")
        after = downgrade_schema(opened.database, target)
    _write_move(invocation, before, after)


@command(app, "current", examples=("comity db current",))
def current(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show the schema revision of the state, the revision that this version needs, and where the state is."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.schema import schema_age

    with invocation.open_existing(migrate=False) as opened:
        age = schema_age(opened.database)
    if invocation.is_missing:
        age = replace(age, where=invocation.settings.where)
    if invocation.as_json:
        write_json(_document(age))
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
        write_line(Cell("There are no tables yet; comity db upgrade creates them.", "dim"))
    elif not age.is_current:
        write_line(Cell(f"This version needs {age.head}: run comity db upgrade, or use another version.", "dim"))


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
    back: Annotated[bool, typer.Option("--back", help="Move from Redis to the database instead.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the queued URLs of a shared state from its database to Redis, so that COMITY_REDIS_URL can be used with it.

    With --back, move them from Redis to the database, so that Redis is no longer needed. Stop every crawl and worker
    first. An interrupted move loses nothing; the same command continues it.
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
        write_line(f"{counted(moved, 'URL')} moved to the database; unset COMITY_REDIS_URL from now on.")
    else:
        write_line(f"{counted(moved, 'URL')} moved to Redis; keep COMITY_REDIS_URL set from now on.")


def _ask(question: str) -> None:
    """Ask for confirmation on a terminal; without one, --yes is required."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput("db downgrade deletes data: add --yes to confirm")
    typer.confirm(question, abort=True, err=True)


def _write_move(invocation: Invocation, before: SchemaAge, after: SchemaAge) -> None:
    if invocation.as_json:
        write_json({**_document(after), "revision_before": before.revision})
    elif before.revision == after.revision:
        write_line(f"{after.where} is already at {after.revision or 'no schema'}.")
    else:
        write_line(f"{after.where}: {before.revision or 'no schema'} → {after.revision or 'no schema'}.")


def _document(age: SchemaAge) -> dict[str, object]:
    return {"revision": age.revision, "head": age.head, "is_current": age.is_current, "state": age.where}
