"""/admin/crawl_policies: what is crawled again and again by bots, as a table, a form and a page for each."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from comity.doors.web.console import components, plots
from comity.doors.web.console.forms import Field, Form, FormInvalid, FormValues, PostedForm, sentence
from comity.doors.web.console.page import FOR_OPERATORS, PageRouter, current_services, redirect, url
from comity.doors.web.console.pages import queue
from comity.doors.web.console.tables import Bulk, Column, Table, TableQuery, choice, search
from comity.doors.web.notices import Offer
from comity.doors.web.queue_requests import PolicyChangesBody, PolicyRequest
from comity.doors.web.services import Services, WebServices
from comity.model.errors import AlreadyThere, BadInput
from comity.operate.queue import BOUNDS, PolicyAction, act_on_policies, add_policy, edit_policy
from comity.reports.queue import JOBS, POLICIES, CrawlPolicy, PricePoint, find_policy, price_history

router = PageRouter("/admin/crawl_policies")
_PATH: Final = "/crawl_policies"
_SHOWN_PRICES: Final = 150
_SHOWN_JOBS: Final = 10
_STATES: Final = (("enabled", "enabled"), ("disabled", "paused"), ("due", "due now"), ("failing", "failing"))
_NEXT_RUN: Final = (("1", "within an hour"), ("24", "within a day"), ("168", "within 7 days"))
_WHOLE: Final = frozenset({"JPY", "KRW", "VND", "CLP", "HUF", "ISK"})  # prices have no cents
_DONE: Final = {
    PolicyAction.ENABLE: "Resumed",
    PolicyAction.DISABLE: "Paused",
    PolicyAction.RUN_NOW: "Due now:",
    PolicyAction.SET_PRIORITY: "Set the priority of",
    PolicyAction.DELETE: "Deleted",
}


def priority_badge(priority: int) -> Markup:
    """A priority."""
    return components.badge("plain", str(priority))


def _state(row: CrawlPolicy) -> Markup:
    if not row.enabled:
        return components.badge("off", "paused")
    return components.badge("bad", "failing") if row.failure_count else components.badge("good", "enabled")


def _next_run(row: CrawlPolicy) -> object:
    """A policy that is paused keeps its time, in which the list has its place, for when it is resumed."""
    now = current_services().state.clock.now()
    if not row.enabled:
        return Markup('<span class="nothing">{}</span>').format(components.when(row.next_run_at, relative_to=now))
    is_due = row.next_run_at is None or row.next_run_at <= now
    return components.badge("wait", "due now") if is_due else components.when(row.next_run_at, relative_to=now)


def _last_success(row: CrawlPolicy) -> object:
    return components.when(row.last_success_at, relative_to=current_services().state.clock.now())


def _price(row: CrawlPolicy) -> object:
    return money(row.last_price, row.last_currency)


def money(price: Any, currency: str | None) -> object:
    """A price with its currency."""
    if price is None:
        return components.NOTHING
    decimals = max(0 if currency in _WHOLE else 2, -int(price.normalize().as_tuple().exponent))
    return Markup('<span class="figure price">{}</span> {}').format(f"{price:,.{decimals}f}", currency or "")


TABLE: Final = Table(
    "crawl_policies",
    [
        Column("url", "URL", lambda row: components.address_lines(row.url), is_wide=True),
        Column(
            "priority", "Priority", lambda row: priority_badge(row.priority), sorts=True, is_number=True, is_minor=True
        ),
        Column("frequency_hours", "Every", lambda row: f"{row.frequency_hours:,} h", is_number=True, is_minor=True),
        Column("enabled", "State", _state),
        Column("next_run_at", "Next run", lambda row: _next_run(row), sorts=True),
        Column("failure_count", "Failures", is_number=True, is_minor=True),
        Column("last_success_at", "Last success", _last_success, is_minor=True),
        Column("last_price", "Price", _price, csv=lambda row: row.last_price, is_number=True, is_minor=True),
        Column("id", "Id", in_page=False),
        Column("last_failed_at", "Last failure", in_page=False),
        Column("created_at", "Created", in_page=False),
    ],
    [
        search("Host, URL or id"),
        choice("state", "State", _STATES),
        choice("priority", "Priority", [(str(each), str(each)) for each in range(11)]),
        choice("next_run", "Next run", _NEXT_RUN),
        queue.CREATED,
    ],
    default_sort="next_run_at",
    key=lambda row: row.id,
    pages_by_key=True,
    newer="First",
    bulk=(
        Bulk("run_now", "Run now"),
        Bulk("disable", "Pause"),
        Bulk("enable", "Resume"),
        Bulk("set_priority", "Set priority"),
        Bulk("delete", "Delete", is_dangerous=True),
    ),
    bulk_path="/crawl_policies/actions",
    row_href=lambda row: url(_PATH, row.id),
    empty="No policies yet. A policy is a URL that bots crawl again and again.",
)


def _bound(name: str) -> dict[str, object]:
    least, most = BOUNDS[name]
    return {"min": least, "max": most}


FORM: Final = Form(
    (
        Field("url", "URL", "url", required=True, placeholder="https://shop.example/product/1"),
        Field("frequency_hours", "Hours between crawls", "number", required=True, attributes=_bound("frequency_hours")),
        Field(
            "schedule",
            "Schedule",
            "select",
            "Adaptive: by how often the page changes.",
            choices=[("fixed", "fixed"), ("adaptive", "adaptive")],
        ),
        Field(
            "priority",
            "Priority",
            "number",
            "Jobs with a higher priority are handed out first.",
            required=True,
            attributes=_bound("priority"),
        ),
        Field(
            "importance",
            "Importance",
            "number",
            "The weight of its changes in the adaptive schedule.",
            required=True,
            attributes=_bound("importance") | {"step": "any"},
        ),
        Field("max_retries", "Retries after a failure", "number", required=True, attributes=_bound("max_retries")),
        Field(
            "retry_backoff_minutes",
            "Minutes before the first retry",
            "number",
            "Doubled after each further failure.",
            required=True,
            attributes=_bound("retry_backoff_minutes"),
        ),
        Field(
            "timeout_minutes",
            "Minutes per lock",
            "number",
            "How long a bot may hold a job.",
            required=True,
            attributes=_bound("timeout_minutes"),
        ),
        Field(
            "crawl_config",
            "Configuration",
            "area",
            "What bots should know about the page, as a JSON object.",
            is_code=True,
        ),
        Field("enabled", "Enabled", "check", "Make jobs when it is due."),
    ),
    {
        "frequency_hours": "24",
        "schedule": "fixed",
        "priority": "5",
        "importance": "1",
        "max_retries": "3",
        "retry_backoff_minutes": "5",
        "timeout_minutes": "10",
        "enabled": "on",
    },
)


def _wanted(services: WebServices, query: TableQuery) -> dict[str, Any]:
    state, priority, hours = query.get("state"), query.get("priority"), query.get("next_run")
    return queue.searched(query) | {
        "enabled": {"enabled": True, "disabled": False}.get(state or ""),
        "due_by": services.state.clock.now() if state == "due" else None,
        "failing": state == "failing",
        "priority": int(priority) if priority else None,
        "next_run_before": services.state.clock.now() + timedelta(hours=int(hours)) if hours else None,
        "created_after": queue.created_after(services, query),
    }


def _sort(query: TableQuery, wanted: dict[str, Any]) -> str:
    """Those that were created in a time are listed by that, and those that run in a time by when."""
    if wanted["created_after"]:
        return "-created_at"
    return "next_run_at" if wanted["next_run_before"] and query.sort != "next_run_at" else query.sort_text


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """List policies, the next to run first."""
    query, database = TABLE.read(request), services.state.database
    wanted = _wanted(services, query)
    sort = _sort(query, wanted)
    if query.wants_csv:
        return TABLE.csv(POLICIES.export(database, sort=sort, **wanted), is_begun=True)
    page = POLICIES.safe_page(database, sort=sort, limit=query.limit, cursor=query.after or None, **wanted)
    return queue.render_queue(
        request,
        "queue/policies.html",
        title="Policies",
        part=_PATH,
        listing=TABLE.listing(query, page.items, cursor=page.cursor),
        is_sorted_otherwise=sort != query.sort_text,
    )


@router.get("/new", dependencies=FOR_OPERATORS)
def new(request: Request) -> HTMLResponse:
    """Show an empty form."""
    return _form_page(request, FORM, "New policy", _PATH, "Add")


@router.post("")
def add(request: Request, services: Services, entered: PostedForm) -> Response:
    """Add a policy."""
    state = services.state
    try:
        body = _without_config(entered).parse(PolicyRequest, boxes=["enabled"])
        columns = body.model_dump(exclude={"url"}, exclude_none=True) | _config(entered)
        added = add_policy(
            state.database, state.clock, body.url, collapse=state.settings.collapse_subdomains, **columns
        )
    except (FormInvalid, BadInput, AlreadyThere) as error:
        return _form_page(request, refused(FORM, entered, error), "New policy", _PATH, "Add", status=422)
    return redirect(request, f"{_PATH}/{added}", notice="Added. Its first job is made when it is due.")


@router.post("/actions")
def act(request: Request, services: Services, entered: PostedForm) -> Response:
    """Act on the ticked policies. Deleting and setting a priority ask first."""
    state, ids = services.state, queue.ticked(entered)
    try:
        action = PolicyAction(entered.get("action"))
    except ValueError:
        raise BadInput("action", "is not known") from None
    fields = [("action", str(action)), *(("id", each) for each in ids)]
    some = components.plural(len(ids), "policy", "policies")
    if action is PolicyAction.DELETE and not entered.is_on("confirmed"):
        return queue.confirmation(
            request,
            _PATH,
            question=f"Delete {some}?",
            path=f"{_PATH}/actions",
            submit="Delete",
            fields=[*fields, ("confirmed", "on")],
            consequence="Their jobs and results are deleted with them.",
        )
    priority = queue.priority_of(entered)
    if action is PolicyAction.SET_PRIORITY and priority is None:
        return queue.confirmation(
            request,
            _PATH,
            question=f"Set the priority of {some}",
            path=f"{_PATH}/actions",
            submit="Set",
            fields=fields,
            asks_priority=True,
            error="Enter a number." if "priority" in dict(entered.pairs) else "",
        )
    report = act_on_policies(state.database, state.clock, action, ids, priority=priority)
    undo = None
    if action is PolicyAction.DISABLE:
        changed = (("id", str(item.id)) for item in report.items if item.changed)
        undo = Offer(f"{_PATH}/actions", (("action", str(PolicyAction.ENABLE)), *changed))
    return queue.report_on(request, report, _DONE[action], "policy", "policies", _PATH, undo)


@router.get("/{policy_id}")
def show(request: Request, services: Services, policy_id: queue.RowId) -> HTMLResponse:
    """Show one policy with its prices and its latest jobs."""
    database = services.state.database
    policy = find_policy(database, str(policy_id))
    jobs = JOBS.page(database, sort="-created_at", limit=_SHOWN_JOBS, policy_id=policy_id)
    points = price_history(database, policy_id, _SHOWN_PRICES)
    return queue.render_queue(
        request,
        "queue/policy.html",
        title=components.shortened(policy.url.split("://", 1)[-1], 90).striptags(),
        part=_PATH,
        policy=policy,
        state_badge=_state(policy),
        price=_price(policy),
        jobs=jobs.items,
        has_more_jobs=jobs.cursor is not None,
        plot=price_plot(points),
        job_badge=queue.job_badge,
        now=services.state.clock.now(),
        config=None if policy.crawl_config is None else json.dumps(policy.crawl_config, indent=2, ensure_ascii=False),
    )


def price_plot(points: list[PricePoint]) -> Markup | None:
    """Prices over time, one line for each currency; None if there are none."""
    currencies = list(dict.fromkeys(each.currency or "" for each in points if each.price is not None))
    if not currencies:
        return None
    series = [
        plots.Series(
            currency or "price",
            [
                float(each.price) if each.price is not None and (each.currency or "") == currency else None
                for each in points
            ],
            str(number % 6 + 1),
        )
        for number, currency in enumerate(currencies[:6])
    ]
    title = "Price" if len(points) < _SHOWN_PRICES else f"Price, the latest {_SHOWN_PRICES} crawls"
    return plots.line_plot(title, [each.crawled_at for each in points], series, unit=" / ".join(currencies[:1]))


@router.get("/{policy_id}/edit", dependencies=FOR_OPERATORS)
def edit(request: Request, services: Services, policy_id: queue.RowId) -> HTMLResponse:
    """Show the form with what the policy has."""
    form = _filled(find_policy(services.state.database, str(policy_id)))
    return _form_page(request, form, "Edit policy", f"{_PATH}/{policy_id}", "Save")


def _filled(policy: CrawlPolicy) -> Form:
    config = "" if policy.crawl_config is None else json.dumps(policy.crawl_config, indent=2, ensure_ascii=False)
    names = [each.name for each in FORM.fields]
    return FORM.filled({name: getattr(policy, name, None) for name in names} | {"crawl_config": config})


@router.post("/{policy_id}")
def save(request: Request, services: Services, policy_id: queue.RowId, entered: PostedForm) -> Response:
    """Change a policy."""
    state = services.state
    try:
        _filled(find_policy(state.database, str(policy_id))).require_same(entered)
        body = _without_config(entered).parse(PolicyChangesBody, boxes=["enabled"])
        changes = body.model_dump(exclude_unset=True) | (_config(entered) or {"crawl_config": None})
        edit_policy(state.database, state.clock, policy_id, collapse=state.settings.collapse_subdomains, **changes)
    except (FormInvalid, BadInput, AlreadyThere) as error:
        form = refused(FORM, entered, error)
        return _form_page(request, form, "Edit policy", f"{_PATH}/{policy_id}", "Save", status=422)
    return redirect(request, f"{_PATH}/{policy_id}", notice="Saved. A job that exists keeps its settings.")


@router.get("/{policy_id}/delete", dependencies=FOR_OPERATORS)
def ask_delete(request: Request, services: Services, policy_id: queue.RowId) -> HTMLResponse:
    """Ask before a policy is deleted."""
    policy = find_policy(services.state.database, str(policy_id))
    return queue.confirmation(
        request,
        _PATH,
        question="Delete this policy?",
        path=f"{_PATH}/{policy_id}/delete",
        submit="Delete",
        consequence=f"The policy of {policy.url} is deleted with its jobs and results.",
        back=f"{_PATH}/{policy_id}",
    )


@router.post("/{policy_id}/delete")
def delete(request: Request, services: Services, policy_id: queue.RowId) -> Response:
    """Delete a policy with its jobs and results."""
    find_policy(services.state.database, str(policy_id))
    act_on_policies(services.state.database, services.state.clock, PolicyAction.DELETE, [policy_id])
    return redirect(request, _PATH, notice="Deleted.")


@router.post("/{policy_id}/{action}")
def act_on_one(request: Request, services: Services, policy_id: queue.RowId, action: str) -> Response:
    """Run, pause or resume a policy."""
    state = services.state
    wanted = {"run_now": PolicyAction.RUN_NOW, "disable": PolicyAction.DISABLE, "enable": PolicyAction.ENABLE}
    find_policy(state.database, str(policy_id))
    if action not in wanted:
        raise BadInput("action", "is not known")
    (item,) = act_on_policies(state.database, state.clock, wanted[action], [policy_id]).items
    done = {"run_now": "It is due now: its next job can be pulled.", "disable": "Paused.", "enable": "Resumed."}
    notice = done[action] if item.changed else f"Not changed: {item.reason}."
    undo = Offer(f"{_PATH}/{policy_id}/enable") if action == "disable" and item.changed else None
    kind = "good" if item.changed else "warn"
    return redirect(request, f"{_PATH}/{policy_id}", notice=notice, kind=kind, offer=undo)


def refused(form: Form, entered: FormValues, error: FormInvalid | BadInput | AlreadyThere) -> Form:
    """The form as it was entered, with what is wrong; what exists already is about its first field."""
    if isinstance(error, AlreadyThere):
        error = FormInvalid({form.fields[0].name: sentence(f"{error}.")})
    return form.refused(entered, error)


def _form_page(request: Request, form: Form, title: str, path: str, submit: str, status: int = 200) -> HTMLResponse:
    return queue.render_queue(
        request,
        "queue/policy_form.html",
        title=title,
        part=_PATH,
        status=status,
        form=form,
        post_path=path,
        submit=submit,
    )


def _without_config(entered: FormValues) -> FormValues:
    return FormValues([pair for pair in entered.pairs if pair[0] != "crawl_config"])


def _config(entered: FormValues) -> dict[str, Any]:
    text = entered.get("crawl_config")
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise FormInvalid({"crawl_config": "This is not JSON."}) from None
    if not isinstance(found, dict):
        raise FormInvalid({"crawl_config": 'It must be an object, such as {"selector": ".price"}.'})
    return {"crawl_config": found}
