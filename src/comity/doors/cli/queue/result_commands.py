"""`comity queue results …`: list, show and export what bots submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import (
    JsonOption,
    LimitOption,
    StateOption,
    check_number,
    name_options_in_errors,
    read_invocation,
)
from comity.doors.cli.output import Cell, CsvOption, check_one_format, render_time, write_line, write_pairs
from comity.doors.cli.queue import PolicyOption, SearchOption, read_id
from comity.doors.cli.queue import results as app
from comity.doors.cli.queue.rendering import (
    MOST_LISTED,
    export_rows,
    note_more,
    price,
    stock,
    write_exact,
    write_late,
    write_results,
    write_rows,
)
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.reports.queue import ItemPage


@command(
    app,
    "list",
    examples=(
        "comity queue results list",
        "comity queue results list --policy https://example.com/product/1 --csv",
        "comity queue results list --late",
    ),
)
def list_all(
    context: typer.Context,
    policy: PolicyOption = None,
    currency: Annotated[str | None, typer.Option("--currency", metavar="CODE", help="Only in this currency.")] = None,
    in_stock: Annotated[
        bool | None, typer.Option("--in-stock/--out-of-stock", help="Only what is in stock, or what is not.")
    ] = None,
    bot: Annotated[str | None, typer.Option("--bot", metavar="BOT", help="Only those of this bot.")] = None,
    search: SearchOption = None,
    late: Annotated[
        bool, typer.Option("--late", help="Show submissions that came after their lock had expired instead.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="COLUMN", help="created_at, crawled_at or url; a leading - reverses the order."),
    ] = None,
    limit: LimitOption = 50,
    as_csv: CsvOption = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List results, the newest first."""
    check_number("--limit", limit, 1, MOST_LISTED)
    invocation = read_invocation(context, state, as_json)
    check_one_format(as_csv=as_csv, as_json=invocation.as_json)
    if late and any(each is not None for each in (policy, currency, in_stock, search)):
        raise BadInput("--late can be combined only with --bot, --sort and --limit")
    from comity.doors.schemas.queue import CrawlResultView, LateSubmissionView
    from comity.reports.queue import LATE, RESULTS, find_policy

    with name_options_in_errors({"sort": sort}), invocation.open_existing() as opened:
        if late:
            page: ItemPage[Any] = LATE.page(opened.database, sort=sort or "", limit=limit, bot_id=bot)
        else:
            page = RESULTS.page(
                opened.database,
                sort=sort or "",
                limit=limit,
                policy_id=None if policy is None else find_policy(opened.database, policy).id,
                currency=None if currency is None else currency.upper(),
                in_stock=in_stock,
                bot_id=bot,
                containing=search,
            )
    schema = LateSubmissionView if late else CrawlResultView
    write = write_late if late else write_results
    write_rows(invocation, schema, page.items, write, as_csv=as_csv, nothing="No results found.")
    note_more(invocation, page, limit, "comity queue results export")


@command(
    app,
    "show",
    examples=(
        "comity queue results show 0b8c9a1e-5d5f-4a53-9a57-3f1f8c1d2e3f",
        "comity queue results show ID --html > page.txt",
    ),
)
def show(
    context: typer.Context,
    named: Annotated[str, typer.Argument(metavar="RESULT", help="The id of a result, or of its job.")],
    html: Annotated[bool, typer.Option("--html", help="Print only the page that was submitted.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one result, or the page that was submitted with it."""
    invocation = read_invocation(context, state, as_json)
    from comity.reports.queue import find_result, raw_html_of

    identity = read_id(named, "result", "results list")
    with invocation.open_existing() as opened:
        found = find_result(opened.database, identity)
        page = raw_html_of(opened.database, found.id) if html else b""
    if html:
        print(page.decode("utf-8", "replace"))
        return
    from comity.doors.schemas.exact_json import exact_json
    from comity.doors.schemas.queue import CrawlResultView

    if invocation.as_json:
        write_exact(CrawlResultView.model_validate(found))
        return
    write_line(Cell(found.url, "bold"))
    write_pairs(
        [
            ("id", str(found.id)),
            ("job", str(found.job_id)),
            ("policy", str(found.policy_id or "-")),
            ("title", found.title or "-"),
            ("price", price(found.price, found.currency)),
            ("in stock", stock(found.in_stock)),
            ("bot", found.bot_id or "-"),
            ("crawled", render_time(found.crawled_at)),
            ("page", "-" if found.raw_html_bytes is None else f"{found.raw_html_bytes:,} bytes"),
            ("data", "-" if found.parsed_data is None else exact_json(found.parsed_data)),
        ]
    )


@command(app, "export", examples=("comity queue results export results.csv",))
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .json or .jsonl file; - is stdout, as CSV.")],
    policy: PolicyOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export results without their pages, oldest first."""
    invocation = read_invocation(context, state, as_json)
    from comity.doors.schemas.queue import CrawlResultView
    from comity.reports.queue import RESULTS, find_policy

    with invocation.open_existing() as opened:
        policy_id = None if policy is None else find_policy(opened.database, policy).id
        rows = RESULTS.each(opened.database, sort="created_at", policy_id=policy_id)
        export_rows(invocation, file, CrawlResultView, rows)
