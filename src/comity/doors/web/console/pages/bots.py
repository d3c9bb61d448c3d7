"""/admin/bots: outside workers, their keys, limits and figures."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from comity.doors.web.console import components
from comity.doors.web.console.forms import Field, Form, FormInvalid, PostedForm
from comity.doors.web.console.page import FOR_OPERATORS, PageRouter, current_services, redirect, url
from comity.doors.web.console.pages import queue
from comity.doors.web.console.pages.crawl_policies import refused
from comity.doors.web.console.tables import Column, Table, choice
from comity.doors.web.notices import Offer
from comity.doors.web.queue_requests import BotLimits, BotRequest, QuarantineRequest
from comity.doors.web.services import Services
from comity.model.bot import MOST_IN_HAND, MOST_PER_MINUTE, MOST_QUARANTINE_MINUTES, BotRecord, BotStatus
from comity.model.errors import AlreadyThere, BadInput
from comity.operate.bots import (
    add_bot,
    get_bot,
    limit_bot,
    list_bots,
    quarantine_bot,
    renew_key,
    resume_bot,
    revoke_bot,
)
from comity.reports.queue import JOBS

router = PageRouter("/admin/bots")
_PATH: Final = "/bots"
_SHOWN_JOBS: Final = 20
_EXPORTED: Final = 100_000


def _seen(row: BotRecord) -> object:
    return components.when(row.last_seen_at, relative_to=current_services().state.clock.now())


def _failures(row: BotRecord) -> object:
    ended = row.jobs_done + row.jobs_failed
    share = f" ({row.jobs_failed / ended * 100:.1f} %)" if ended else ""
    return f"{row.jobs_failed:,}{share}"


TABLE: Final = Table(
    "bots",
    [
        Column("bot_id", "Bot", sorts=True, is_wide=True),
        Column("status", "Status", lambda row: queue.bot_badge(row.status)),
        Column("jobs_in_hand", "Held", sorts=True, is_number=True),
        Column("jobs_done", "Done", sorts=True, is_number=True),
        Column(
            "jobs_failed",
            "Failed",
            _failures,
            csv=lambda row: row.jobs_failed,
            sorts=True,
            is_number=True,
            is_minor=True,
        ),
        Column("consecutive_failures", "Failed in a row", sorts=True, is_number=True, is_minor=True),
        Column("last_seen_at", "Seen", _seen, sorts=True),
        Column("note", "Note", lambda row: components.shortened(row.note, 50), is_minor=True, is_wide=True),
        Column("jobs_pulled", "Pulled", in_page=False),
        Column("created_at", "Created", in_page=False),
    ],
    [choice("status", "Status", BotStatus)],
    default_sort="bot_id",
    key=lambda row: row.bot_id,
    pages_by_key=True,
    newer="First",
    row_href=lambda row: url(_PATH, row.bot_id),
    empty="No bots yet. A bot is a program that pulls jobs and submits results with its own key.",
)
_LIMITS: Final = (
    Field(
        "max_jobs_in_hand",
        "Jobs held at once",
        "number",
        "The most it may hold. Leave empty for no limit.",
        attributes={"min": 1, "max": MOST_IN_HAND},
    ),
    Field(
        "max_jobs_per_minute",
        "Jobs per minute",
        "number",
        "The most it may pull. Leave empty for no limit.",
        attributes={"min": 1, "max": MOST_PER_MINUTE},
    ),
    Field("note", "Note", help="What it does, or who runs it.", attributes={"maxlength": 1000}),
)
FORM: Final = Form(
    (
        Field("bot_id", "Name", required=True, placeholder="shop-bot-1", help="Letters, digits and . _ : @ -"),
        *_LIMITS,
    )
)
LIMITS: Final = Form(_LIMITS)
QUARANTINE: Final = Form(
    (
        Field(
            "minutes",
            "Minutes",
            "number",
            "It gets no jobs during this time, but may still submit those that it holds.",
            required=True,
            attributes={"min": 1, "max": MOST_QUARANTINE_MINUTES},
        ),
    ),
    {"minutes": "60"},
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List bots in the order of their names."""
    query, database = TABLE.read(request), services.state.database
    status = query.get("status")
    if query.wants_csv:
        return TABLE.csv(list_bots(database, status=status, limit=_EXPORTED, sort=query.sort_text))
    try:
        rows = list_bots(
            database, status=status, after=query.after or None, limit=query.limit + 1, sort=query.sort_text
        )
    except BadInput:  # the bot that the last page ended with is gone
        rows = list_bots(database, status=status, limit=query.limit + 1, sort=query.sort_text)
    return queue.render_queue(request, "queue/bots.html", title="Bots", part=_PATH, listing=TABLE.listing(query, rows))


@router.get("/new", dependencies=FOR_OPERATORS)
def new(request: Request) -> HTMLResponse:
    """Show an empty form."""
    return _form_page(request, FORM, "New bot", _PATH, "Add")


@router.post("")
def add(request: Request, services: Services, entered: PostedForm) -> Response:
    """Add a bot and show its key, once."""
    state = services.state
    try:
        body = entered.parse(BotRequest)
        bot, key = add_bot(state.database, state.clock, body.bot_id, **body.model_dump(exclude={"bot_id"}))
    except (FormInvalid, BadInput, AlreadyThere) as error:
        return _form_page(request, refused(FORM, entered, error), "New bot", _PATH, "Add", status=422)
    return _key_page(request, bot, key, "Added")


@router.get("/{bot_id}")
def show(request: Request, services: Services, bot_id: queue.BotName) -> HTMLResponse:
    """Show one bot: its figures, its limits and the jobs that it holds."""
    bot = get_bot(services.state.database, bot_id)
    return _bot_page(request, services, bot, LIMITS.filled(bot))


@router.post("/{bot_id}")
def limit(request: Request, services: Services, bot_id: queue.BotName, entered: PostedForm) -> Response:
    """Change the limits and the note of a bot."""
    database = services.state.database
    bot = get_bot(database, bot_id)
    try:
        LIMITS.filled(bot).require_same(entered)
        body = entered.parse(BotLimits, keep_empty=True)
        limit_bot(
            database,
            bot_id,
            note=body.note or "",
            max_jobs_in_hand=body.max_jobs_in_hand or 0,
            max_jobs_per_minute=body.max_jobs_per_minute or 0,
        )
    except (FormInvalid, BadInput) as error:
        return _bot_page(request, services, bot, LIMITS.refused(entered, error), status=422)
    return redirect(request, f"{_PATH}/{bot_id}", notice="Saved. The limits apply from its next pull.")


@router.get("/{bot_id}/quarantine", dependencies=FOR_OPERATORS)
def ask_quarantine(request: Request, services: Services, bot_id: queue.BotName) -> HTMLResponse:
    """Ask for how long a bot is quarantined."""
    get_bot(services.state.database, bot_id)
    return _form_page(
        request, QUARANTINE, f"Quarantine {bot_id}", f"{_PATH}/{bot_id}/quarantine", "Quarantine", f"{_PATH}/{bot_id}"
    )


@router.post("/{bot_id}/quarantine")
def quarantine(request: Request, services: Services, bot_id: queue.BotName, entered: PostedForm) -> Response:
    """Keep a bot from pulling for some minutes."""
    state, path = services.state, f"{_PATH}/{bot_id}"
    try:
        minutes = entered.parse(QuarantineRequest).minutes
        quarantine_bot(state.database, state.clock, bot_id, minutes)
    except (FormInvalid, BadInput) as error:
        form = QUARANTINE.refused(entered, error)
        return _form_page(request, form, f"Quarantine {bot_id}", f"{path}/quarantine", "Quarantine", path, status=422)
    return redirect(
        request, path, notice=f"Quarantined for {components.plural(minutes, 'minute')}.", offer=Offer(f"{path}/resume")
    )


@router.post("/{bot_id}/resume")
def resume(request: Request, services: Services, bot_id: queue.BotName) -> Response:
    """End the quarantine of a bot."""
    resume_bot(services.state.database, bot_id)
    return redirect(request, f"{_PATH}/{bot_id}", notice="Resumed. It may pull again.")


@router.get("/{bot_id}/revoke", dependencies=FOR_OPERATORS)
def ask_revoke(request: Request, services: Services, bot_id: queue.BotName) -> HTMLResponse:
    """Ask before a key is revoked."""
    bot = get_bot(services.state.database, bot_id)
    held = ""
    if bot.jobs_in_hand:
        jobs = components.plural(bot.jobs_in_hand, "job")
        locks = "its lock expires" if bot.jobs_in_hand == 1 else "their locks expire"
        held = f" The {jobs} it holds can be pulled again when {locks}."
    return queue.confirmation(
        request,
        _PATH,
        question=f"Revoke the key of {bot_id}?",
        path=f"{_PATH}/{bot_id}/revoke",
        submit="Revoke",
        consequence=f"Its key stops working at once.{held}",
        back=f"{_PATH}/{bot_id}",
    )


@router.post("/{bot_id}/revoke")
def revoke(request: Request, services: Services, bot_id: queue.BotName) -> Response:
    """Revoke the key of a bot."""
    revoke_bot(services.state.database, bot_id)
    return redirect(request, f"{_PATH}/{bot_id}", notice="Revoked. A new key makes it active again.")


@router.get("/{bot_id}/new-key", dependencies=FOR_OPERATORS)
def ask_new_key(request: Request, services: Services, bot_id: queue.BotName) -> HTMLResponse:
    """Ask before a key is replaced."""
    get_bot(services.state.database, bot_id)
    return queue.confirmation(
        request,
        _PATH,
        question=f"Give {bot_id} a new key?",
        path=f"{_PATH}/{bot_id}/new-key",
        submit="Make a new key",
        consequence="The old key stops working at once. The new one is shown once.",
        back=f"{_PATH}/{bot_id}",
    )


@router.post("/{bot_id}/new-key")
def new_key(request: Request, services: Services, bot_id: queue.BotName) -> Response:
    """Give a bot a new key and show it, once."""
    bot, key = renew_key(services.state.database, bot_id)
    return _key_page(request, bot, key, "New key for")


def _key_page(request: Request, bot: BotRecord, key: str, done: str) -> HTMLResponse:
    """The answer to the form itself, not its own page: a key has no address."""
    return queue.render_queue(
        request,
        "queue/secret.html",
        title=f"{done} {bot.bot_id}",
        part=_PATH,
        noun="key",
        secret=key,
        explanation="The bot sends it as X-API-Key. Only a hash of it is stored, so it cannot be shown again.",
        back=f"{_PATH}/{bot.bot_id}",
        back_label="To the bot",
    )


def _bot_page(request: Request, services: Any, bot: BotRecord, form: Form, status: int = 200) -> HTMLResponse:
    state = services.state
    jobs = JOBS.page(state.database, sort="-locked_at", limit=_SHOWN_JOBS, bot_id=bot.bot_id)
    now = state.clock.now()
    return queue.render_queue(
        request,
        "queue/bot.html",
        title=bot.bot_id,
        part=_PATH,
        status=status,
        bot=bot,
        status_badge=queue.bot_badge(bot.status),
        form=form,
        jobs=jobs.items,
        countdown=lambda job: queue.countdown(job.locked_until, now),
        now=now,
    )


def _form_page(
    request: Request, form: Form, title: str, path: str, submit: str, back: str = _PATH, status: int = 200
) -> HTMLResponse:
    return queue.render_queue(
        request,
        "queue/form.html",
        title=title,
        part=_PATH,
        status=status,
        form=form,
        post_path=path,
        submit=submit,
        back=back,
    )
