"""`comity users …`: who may log in to the console, and with which role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import JsonOption, StateOption, open_stdin, read_invocation
from comity.doors.cli.output import Cell, TextColumn, TextRow, render_time, write_json, write_line, write_table

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation
    from comity.model.console import ConsoleUser, Role

app = group(
    """Users of the console: who may log in, and with which role.

    A viewer can see everything but change nothing; an operator can do everything. Once there is a user, the console
    requires a login. The user admin can also be configured with COMITY_ADMIN_PASSWORD_HASH, which takes precedence.
    """
)
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The name of a user.")]
_ROLES = "viewer or operator"


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="users", rich_help_panel="Sources")


def read_password() -> str:
    """Read a password from the terminal, twice, or from a pipe."""
    from comity.operate.console import LONGEST_PASSWORD

    stdin = open_stdin()
    if stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return stdin.read(LONGEST_PASSWORD * 4 + 2).removesuffix("\n").removesuffix("\r")


@command(app, "add", examples=("comity users add ada --role operator", "comity users add grace < password.txt"))
def add(
    context: typer.Context,
    user: UserArgument,
    role: Annotated[str, typer.Option("--role", metavar="NAME", help=f"What the user may do: {_ROLES}.")] = "viewer",
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a user. The password is read from the terminal or a pipe, and only its hash is stored."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.console import add_user, check_name

    name, chosen = check_name(user), _role(role, "--role")
    password = read_password()
    with invocation.open_or_make() as opened:
        added = add_user(opened.database, opened.clock, name, password, chosen)
    _show(invocation, added, f"was added as {added.role}")


@command(app, "list", examples=("comity users list", "comity users list --json"))
def list_all(context: typer.Context, state: StateOption = None, as_json: JsonOption = False) -> None:
    """List the users with their roles and last logins."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.console import list_users

    with invocation.open_existing() as opened:
        found = list_users(opened.database)
    if invocation.as_json:
        write_json([_document(each) for each in found])
    elif found:
        columns = (TextColumn("USER"), TextColumn("ROLE"), TextColumn("LAST LOGIN"), TextColumn("ADDED"))
        rows = [
            TextRow((each.name, str(each.role), render_time(each.last_login_at, "never"), render_time(each.created_at)))
            for each in found
        ]
        write_table(columns, rows)
    else:
        write_line("There are no users.", Cell("  Add one: comity users add NAME --role operator", "dim"))


@command(app, "password", examples=("comity users password ada",))
def password(
    context: typer.Context, user: UserArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Give a user another password. Every session of the user ends."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.console import change_password, check_name

    name, chosen = check_name(user), read_password()
    with invocation.open_existing() as opened:
        changed = change_password(opened.database, name, chosen)
    _show(invocation, changed, "has a new password; every session has ended")


@command(app, "role", examples=("comity users role ada operator",))
def change(
    context: typer.Context,
    user: UserArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help=f"What the user may do: {_ROLES}.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a user another role. It takes effect at the user's next request."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.console import change_role, check_name

    name, chosen = check_name(user), _role(role, "ROLE")
    with invocation.open_existing() as opened:
        changed = change_role(opened.database, name, chosen)
    _show(invocation, changed, f"is {changed.role} now")


@command(app, "remove", examples=("comity users remove ada",))
def remove(context: typer.Context, user: UserArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Remove a user. Every session of the user ends. Without any user, the console needs no login on this machine."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.console import check_name, remove_user

    name = check_name(user)
    with invocation.open_existing() as opened:
        remove_user(opened.database, name)
    if invocation.as_json:
        write_json({"removed": name})
    else:
        write_line(Cell(name, "bold"), " was removed.")


def _role(text: str, option: str) -> Role:
    from comity.model.console import Role
    from comity.rules.suggestions import one_of

    return Role(one_of(option, text, [str(each) for each in Role]))


def _document(user: ConsoleUser) -> dict[str, Any]:
    from comity.doors.schemas.console import ConsoleUserView

    return ConsoleUserView.model_validate(user).document()


def _show(invocation: Invocation, user: ConsoleUser, became: str) -> None:
    if invocation.as_json:
        write_json(_document(user))
    else:
        write_line(Cell(user.name, "bold"), f" {became}.")
