"""`comity queue webhooks …`: URLs that are called for events, and the log of the calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from comity.doors.cli.crawl.options import AllowNetworkOption
from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    name_options_in_errors,
    open_stdin,
    read_invocation,
)
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
from comity.doors.cli.queue import EnabledOption, read_id
from comity.doors.cli.queue import webhooks as app
from comity.doors.cli.queue.rendering import MOST_LISTED, note_more, write_exact, write_rows
from comity.model.errors import BadInput, ComityError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from comity.assemble import State
    from comity.doors.cli.options import Invocation
    from comity.model.webhook import Webhook, WebhookDelivery

_LARGEST_FILE: Final = 10_000
_STYLES: Final = {"pending": "cyan", "delivered": "green", "failed": "red"}
_NAMES: Final = {"url": "URL", "events": "--event", "secret": "--secret-file", "note": "--note"}
WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The id of a webhook.")]
EventOption = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="EVENT",
        help="What it is called for: job.done, job.failed, price.changed or stock.back; may be repeated.",
    ),
]
SecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="A file with the secret that signs the calls; - is stdin. env:WEBHOOK_SECRET_NAME reads a variable "
        "of the server's environment instead.",
    ),
]
NoteOption = Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What it is for, or who runs it.")]


class NotDelivered(ComityError):
    """The receiver did not accept the test."""

    code = "webhook_test_failed"


@command(
    app,
    "add",
    examples=(
        "comity queue webhooks add https://hooks.example/comity --event stock.back",
        "comity queue webhooks add https://hooks.example/ --secret-file secret.txt",
    ),
)
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL that is called.")],
    events: EventOption = None,
    secret_file: SecretOption = None,
    text: NoteOption = None,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Add it disabled: it is not called until it is enabled.")
    ] = False,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a webhook, and print the secret that its calls are signed with.

    Without --event it is called for every event. A secret that Comity makes is printed only once.
    """
    invocation = read_invocation(context, state, as_json, allow_networks=_networks(allow_network))
    from comity.model.queue import WebhookEvent
    from comity.operate.webhooks import add_webhook, check_events, check_url

    wanted, networks = events or [str(event) for event in WebhookEvent], invocation.settings.allow_networks
    with _naming():
        check_url(url, networks)  # before anything is opened or created
        check_events(wanted)
        secret = _secret(secret_file)
        with invocation.open_or_make() as opened:
            added, made = add_webhook(
                opened.database,
                opened.clock,
                url,
                wanted,
                secret=secret,
                note=text,
                enabled=not disabled,
                networks=networks,
            )
    _show(invocation, added, "was added", made, is_new=True)


@command(
    app,
    "edit",
    examples=(
        "comity queue webhooks edit ID --url https://hooks.example/v2",
        "comity queue webhooks edit ID --event job.failed",
    ),
)
def edit(
    context: typer.Context,
    webhook: WebhookArgument,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="The URL that is called.")] = None,
    events: EventOption = None,
    secret_file: SecretOption = None,
    text: NoteOption = None,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a webhook. Waiting deliveries go to the new URL, signed with the new secret."""
    invocation = read_invocation(context, state, as_json, allow_networks=_networks(allow_network))
    from comity.operate.webhooks import edit_webhook

    with _naming(url="--url"):
        sent = {"url": url, "events": events or None, "secret": _secret(secret_file), "note": text}
        changes = {name: value for name, value in sent.items() if value is not None}
        networks = invocation.settings.allow_networks
        with invocation.open_existing() as opened:
            changed = edit_webhook(opened.database, opened.clock, _id(webhook), networks=networks, **changes)
    _show(invocation, changed, "was changed")


@command(app, "new-secret", examples=("comity queue webhooks new-secret ID",))
def new_secret(
    context: typer.Context, webhook: WebhookArgument, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Make a new secret for a webhook, and print it. Calls are signed with it from now on."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.webhooks import renew_secret

    with invocation.open_existing() as opened:
        changed, made = renew_secret(opened.database, opened.clock, _id(webhook))
    _show(invocation, changed, "has a new secret", made, is_new=True)


@command(app, "list", examples=("comity queue webhooks list", "comity queue webhooks list --disabled --json"))
def list_all(
    context: typer.Context,
    enabled: EnabledOption = None,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the webhooks, the oldest first."""
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.operate.webhooks import list_webhooks

    with invocation.open_existing() as opened:
        found = list_webhooks(opened.database, enabled=enabled)
    if invocation.as_json:
        write_json([_document(each) for each in found])
    elif as_csv:
        from comity.doors.schemas.queue import WebhookView

        rows = ({**_document(each), "events": " ".join(each.events)} for each in found)
        write_csv(column_names(WebhookView), rows)
    elif found:
        _write_webhooks(found)
    else:
        write_line("No webhooks found.", Cell("  Add one: comity queue webhooks add URL", "dim"))


def _show_one(opened: State, webhook_id: UUID) -> Webhook:
    from comity.operate.webhooks import get_webhook

    return get_webhook(opened.database, webhook_id)


def _enable(opened: State, webhook_id: UUID) -> Webhook:
    from comity.operate.webhooks import enable_webhook

    return enable_webhook(opened.database, opened.clock, webhook_id)


def _disable(opened: State, webhook_id: UUID) -> Webhook:
    from comity.operate.webhooks import disable_webhook

    return disable_webhook(opened.database, opened.clock, webhook_id)


def _delete(opened: State, webhook_id: UUID) -> Webhook:
    from comity.operate.webhooks import delete_webhook

    return delete_webhook(opened.database, webhook_id)


def _add_command(name: str, about: str, act: Callable[[State, UUID], Webhook], became: str | None) -> None:
    """A command that does something with one webhook, and shows it."""

    def act_on_one(
        context: typer.Context, webhook: WebhookArgument, state: StateOption = None, as_json: JsonOption = False
    ) -> None:
        invocation = read_invocation(context, state, as_json)
        with invocation.open_existing() as opened:
            found = act(opened, _id(webhook))
        _show(invocation, found, became)

    act_on_one.__doc__ = about
    command(app, name, examples=(f"comity queue webhooks {name} ID",))(act_on_one)


_add_command("show", "Show one webhook.", _show_one, None)
_add_command(
    "enable", "Enable a webhook and reset its failure count. Waiting deliveries are sent.", _enable, "is enabled"
)
_add_command(
    "disable",
    "Disable a webhook: no more events are recorded for it. Waiting deliveries are kept until it is enabled.",
    _disable,
    "is disabled",
)
_add_command("delete", "Delete a webhook with its deliveries, and show it.", _delete, "was deleted")


@command(app, "test", examples=("comity queue webhooks test ID",))
def send_test(
    context: typer.Context,
    webhook: WebhookArgument,
    allow_network: AllowNetworkOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a webhook now with the event test, also a disabled one. The call is not repeated."""
    invocation = read_invocation(context, state, as_json, allow_networks=_networks(allow_network))
    import asyncio  # slow to import, and --help does not need it

    from comity.operate.webhooks import add_test_delivery, get_delivery

    with invocation.open_existing() as opened:
        delivery_id = add_test_delivery(opened.database, opened.clock, _id(webhook))
        asyncio.run(opened.webhook_sender().send_one(delivery_id))
        found = get_delivery(opened.database, delivery_id)
    if invocation.as_json:
        write_exact(_delivery(found))
    elif found.last_error is None:
        write_line(Cell("delivered", "green"), f"  the receiver answered {found.last_status}.")
    if found.last_error is not None:
        raise NotDelivered(f"the test was not delivered: {found.last_error}")


@command(
    app,
    "deliveries",
    examples=(
        "comity queue webhooks deliveries --status failed",
        "comity queue webhooks deliveries --webhook ID --json",
    ),
)
def deliveries(
    context: typer.Context,
    webhook: Annotated[str | None, typer.Option("--webhook", metavar="ID", help="Only those of this webhook.")] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="NAME", help="Only deliveries with this status: pending, delivered or failed."
        ),
    ] = None,
    event: Annotated[str | None, typer.Option("--event", metavar="EVENT", help="Only those of this event.")] = None,
    limit: LimitOption = 50,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List deliveries, the newest first. They are kept for 30 days."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    from comity.doors.schemas.queue import WebhookDeliveryView
    from comity.model.queue import WebhookEvent
    from comity.model.webhook import TEST_EVENT, DeliveryStatus
    from comity.operate.webhooks import DELIVERIES
    from comity.rules.suggestions import one_of

    if status is not None:
        status = one_of("--status", status, [str(each) for each in DeliveryStatus])
    if event is not None:
        event = one_of("--event", event, [*(str(each) for each in WebhookEvent), TEST_EVENT])
    webhook_id = None if webhook is None else _id(webhook)
    with invocation.open_existing() as opened:
        page = DELIVERIES.page(opened.database, limit=limit, webhook_id=webhook_id, status=status, event=event)
    nothing = "No deliveries found."
    write_rows(invocation, WebhookDeliveryView, page.items, _write_deliveries, as_csv=as_csv, nothing=nothing)
    note_more(invocation, page, limit)


@command(app, "resend", examples=("comity queue webhooks resend DELIVERY",))
def resend(
    context: typer.Context,
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="The id of a delivery that has ended.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a finished delivery once more, with the same id. A running comity web or comity work sends it."""
    invocation = read_invocation(context, state, as_json)
    from comity.operate.webhooks import send_again

    delivery_id = read_id(delivery, "delivery", "webhooks deliveries")
    with invocation.open_existing() as opened:
        found = send_again(opened.database, opened.clock, delivery_id)
    if invocation.as_json:
        write_exact(_delivery(found))
    else:
        write_line(Cell(str(found.id), "bold"), f" ({found.event}) will be sent by comity web or comity work.")


def _networks(named: list[str] | None) -> tuple[str, ...] | None:
    return tuple(named) if named else None


def _naming(**names: str) -> Any:
    """Name the option in an error, instead of the column behind it."""
    return name_options_in_errors(dict.fromkeys(_NAMES, True), {**_NAMES, **names})


def _id(named: str) -> UUID:
    return read_id(named, "webhook", "webhooks list")


def _secret(file: str | None) -> str | None:
    """The first line of a file: on the command line, other users of the machine could read a secret."""
    if file is None:
        return None
    from comity.operate.webhooks import check_secret

    if file.startswith("env:"):
        return check_secret(file)
    try:
        if file == "-":
            text = open_stdin().readline(_LARGEST_FILE)
        else:
            with Path(file).open(encoding="utf-8") as stream:
                text = stream.readline(_LARGEST_FILE)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise BadInput(f"{file} is not text in UTF-8") from None
    return check_secret(text.strip("\r\n"))


def _document(webhook: Webhook) -> dict[str, Any]:
    from comity.doors.schemas.queue import WebhookView

    return WebhookView.model_validate(webhook).document()


def _delivery(delivery: WebhookDelivery) -> Any:
    from comity.doors.schemas.queue import WebhookDeliveryView

    return WebhookDeliveryView.model_validate(delivery)


def _show(
    invocation: Invocation, webhook: Webhook, became: str | None, secret: str | None = None, *, is_new: bool = False
) -> None:
    if invocation.as_json:
        write_json(_document(webhook) | ({"secret": secret} if is_new else {}))
        return
    write_line(Cell(webhook.url, "bold"), f" {became}." if became else "")
    pairs: list[tuple[str, str | Cell]] = [
        ("id", str(webhook.id)),
        ("events", ", ".join(webhook.events)),
        ("enabled", Cell("yes", "green") if webhook.enabled else Cell("no", "dim")),
        ("failures", f"{webhook.consecutive_failures:,} in a row"),
        ("added", render_time(webhook.created_at)),
    ]
    if webhook.disabled_reason:
        pairs.insert(3, ("reason", webhook.disabled_reason))
    if webhook.note:
        pairs.append(("note", webhook.note))
    write_pairs(pairs)
    if secret is not None:
        write_as_is(f"  secret  {secret}")
        note("the secret cannot be shown again; the receiver checks signatures with it")


def _write_webhooks(webhooks: Sequence[Webhook]) -> None:
    columns = (
        TextColumn("WEBHOOK"),
        TextColumn("ENABLED"),
        TextColumn("FAILURES", is_number=True),
        TextColumn("EVENTS"),
    )
    rows = [
        TextRow(
            (
                str(webhook.id),
                Cell("yes", "green") if webhook.enabled else Cell("no", "dim"),
                f"{webhook.consecutive_failures:,}",
                ", ".join(webhook.events),
            ),
            below=" · ".join(filter(None, (webhook.url, webhook.disabled_reason, webhook.note))),
        )
        for webhook in webhooks
    ]
    write_table(columns, rows)


def _write_deliveries(found: Sequence[WebhookDelivery]) -> None:
    columns = (
        TextColumn("DELIVERY"),
        TextColumn("EVENT"),
        TextColumn("STATUS"),
        TextColumn("ATTEMPTS", is_number=True),
        TextColumn("CREATED"),
        TextColumn("NEXT ATTEMPT"),
    )
    rows = [
        TextRow(
            (
                str(each.id),
                each.event,
                Cell(str(each.status), _STYLES[each.status]),
                f"{each.attempts:,}",
                render_time(each.created_at),
                render_time(each.next_attempt_at),
            ),
            below=each.last_error,
        )
        for each in found
    ]
    write_table(columns, rows)
