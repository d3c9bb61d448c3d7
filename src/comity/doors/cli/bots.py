"""`comity bots …`: who may pull jobs, with which key and within which limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import JsonOption, StateOption, name_options_in_errors, read_invocation
from comity.doors.cli.output import (
    Cell,
    CsvOption,
    TextColumn,
    TextRow,
    check_one_format,
    column_names,
    note,
    render_time,
    write_as_is,
    write_csv,
    write_json,
    write_line,
    write_pairs,
    write_table,
)

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation
    from comity.model.bot import BotRecord

app = group(
    """Bots: programs that pull jobs from this state over HTTP and submit results.

    Each bot has an id and an API key, which is shown once. See docs/bots.md for a complete bot.
    """
)
_STYLES = {"active": "green", "quarantined": "yellow", "revoked": "dim"}
BotArgument = Annotated[str, typer.Argument(metavar="BOT", help="The id of a bot.")]
InHandOption = Annotated[
    int | None, typer.Option("--in-hand", metavar="N", help="The most jobs it may hold at once; 0: no limit.")
]
PerMinuteOption = Annotated[
    int | None,
    typer.Option("--per-minute", metavar="N", help="The most jobs it may pull per minute; 0: no limit."),
]
NoteOption = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What it is for, or who runs it.")]
_NAMES = {"max_jobs_in_hand": "--in-hand", "max_jobs_per_minute": "--per-minute", "note": "--note", "bot_id": "BOT"}


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="bots", rich_help_panel="Crawl service")


@command(
    app,
    "add",
    examples=("comity bots add shop-bot-1", "comity bots add shop-bot-1 --in-hand 20 --note 'price team'"),
)
def add(
    context: typer.Context,
    bot: BotArgument,
    in_hand: InHandOption = None,
    per_minute: PerMinuteOption = None,
    text: NoteOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a bot, and print its API key.

    The key is printed only once; only its hash is stored. The bot sends it in the X-API-Key header.
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import add_bot, check_limits

    with _naming():
        check_limits(max_jobs_in_hand=in_hand, max_jobs_per_minute=per_minute)
        with invocation.open_or_make() as opened:
            added, key = add_bot(
                opened.database,
                opened.clock,
                bot,
                note=text,
                max_jobs_in_hand=in_hand,
                max_jobs_per_minute=per_minute,
            )
    _show_key(invocation, added, key, "was added")


@command(app, "new-key", examples=("comity bots new-key shop-bot-1",))
def new_key(context: typer.Context, bot: BotArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Give a bot a new API key, and print it. The old key stops working; a revoked bot is active again."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import renew_key

    with invocation.open_existing() as opened:
        changed, key = renew_key(opened.database, bot)
    _show_key(invocation, changed, key, "has a new key")


@command(app, "list", examples=("comity bots list", "comity bots list --status quarantined --json"))
def list_all(
    context: typer.Context,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="NAME", help="Only bots with this status: active, quarantined or revoked."),
    ] = None,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the bots: what they hold, what they have done, and when they were last seen."""
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.model.bot import BotStatus
    from comity.operate.bots import list_bots
    from comity.rules.suggestions import one_of

    if status is not None:
        status = one_of("--status", status, [str(each) for each in BotStatus])
    with invocation.open_existing() as opened:
        found = list_bots(opened.database, status=status)
    if invocation.as_json:
        write_json([_document(each) for each in found])
    elif as_csv:
        from comity.doors.schemas.queue import BotView

        write_csv(column_names(BotView), (_document(each) for each in found))
    elif found:
        _write_bots(found)
    else:
        write_line("No bots found.", Cell("  Add one: comity bots add NAME", "dim"))


@command(app, "show", examples=("comity bots show shop-bot-1",))
def show(context: typer.Context, bot: BotArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Show one bot."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import get_bot

    with invocation.open_existing() as opened:
        found = get_bot(opened.database, bot)
    _show(invocation, found, None)


@command(
    app,
    "limit",
    examples=("comity bots limit shop-bot-1 --in-hand 20 --per-minute 60", "comity bots limit shop-bot-1 --in-hand 0"),
)
def limit(
    context: typer.Context,
    bot: BotArgument,
    in_hand: InHandOption = None,
    per_minute: PerMinuteOption = None,
    text: NoteOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the limits or the note of a bot. They apply from its next pull."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import limit_bot

    with _naming(), invocation.open_existing() as opened:
        changed = limit_bot(opened.database, bot, note=text, max_jobs_in_hand=in_hand, max_jobs_per_minute=per_minute)
    _show(invocation, changed, "was changed")


@command(app, "resume", examples=("comity bots resume shop-bot-1",))
def resume(context: typer.Context, bot: BotArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """End the quarantine of a bot: its failures are cleared, and it may pull again."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import resume_bot

    with invocation.open_existing() as opened:
        changed = resume_bot(opened.database, bot)
    _show(invocation, changed, "is active")


@command(app, "revoke", examples=("comity bots revoke shop-bot-1",))
def revoke(context: typer.Context, bot: BotArgument, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Revoke a bot: its key stops working within a second.

    Other bots can pull the jobs that it holds once their locks run out, or after comity queue jobs reset. To
    use it again, give it a new key (comity bots new-key).
    """
    invocation = read_invocation(context, state, as_json)
    from comity.operate.bots import revoke_bot

    with invocation.open_existing() as opened:
        changed = revoke_bot(opened.database, bot)
    _show(invocation, changed, "is revoked")


def _naming() -> Any:
    """Name the option in an error, instead of the column behind it."""
    return name_options_in_errors(dict.fromkeys(_NAMES, True), _NAMES)


def _document(bot: BotRecord) -> dict[str, Any]:
    from comity.doors.schemas.queue import BotView

    return BotView.model_validate(bot).document()


def _show_key(invocation: Invocation, bot: BotRecord, key: str, became: str) -> None:
    if invocation.as_json:
        write_json(_document(bot) | {"key": key})
        return
    write_line(Cell(bot.bot_id, "bold"), f" {became}.")
    write_as_is(f"  key  {key}")
    note("the key is not stored and cannot be shown again; the bot sends it in the X-API-Key header")


def _show(invocation: Invocation, bot: BotRecord, became: str | None) -> None:
    if invocation.as_json:
        write_json(_document(bot))
        return
    write_line(Cell(bot.bot_id, "bold"), f" {became}." if became else "")
    pairs: list[tuple[str, str | Cell]] = [
        ("status", Cell(str(bot.status), _STYLES[bot.status])),
        ("key", "yes" if bot.has_key else "none: only this machine, in development"),
        ("jobs in hand", f"{bot.jobs_in_hand:,} of {_limit(bot.max_jobs_in_hand)}"),
        ("jobs per minute", f"at most {_limit(bot.max_jobs_per_minute)}"),
        ("pulled", f"{bot.jobs_pulled:,}"),
        ("done", f"{bot.jobs_done:,}"),
        ("failed", f"{bot.jobs_failed:,} ({bot.consecutive_failures:,} in a row now)"),
        ("last seen", render_time(bot.last_seen_at, "never")),
        ("added", render_time(bot.created_at)),
    ]
    if bot.quarantined_until is not None:
        pairs.insert(1, ("until", render_time(bot.quarantined_until)))
    if bot.note:
        pairs.append(("note", bot.note))
    write_pairs(pairs)


def _limit(number: int | None) -> str:
    return "any number" if number is None else f"{number:,}"


def _write_bots(bots: list[BotRecord]) -> None:
    columns = (
        TextColumn("BOT"),
        TextColumn("STATUS"),
        TextColumn("IN HAND", is_number=True),
        TextColumn("PULLED", is_number=True),
        TextColumn("DONE", is_number=True),
        TextColumn("FAILED", is_number=True),
        TextColumn("LAST SEEN"),
    )
    rows = [
        TextRow(
            (
                bot.bot_id,
                Cell(str(bot.status), _STYLES[bot.status]),
                f"{bot.jobs_in_hand:,}",
                f"{bot.jobs_pulled:,}",
                f"{bot.jobs_done:,}",
                f"{bot.jobs_failed:,}",
                render_time(bot.last_seen_at, "never"),
            ),
            below=bot.note,
        )
        for bot in bots
    ]
    write_table(columns, rows)
