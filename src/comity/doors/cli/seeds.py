"""`comity seeds …`: saying which hosts are to be crawled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import Invocation, JsonOption, StateOption, checked_text, open_stdin, read_invocation
from comity.doors.cli.output import Cell, ProgressBars, note, visible, write_json, write_line
from comity.model.errors import BadInput
from comity.model.wording import counted

if TYPE_CHECKING:
    from comity.operate.seeds import CheckedSeeds, SeedReport

_LONGEST_SOURCE: Final = 100
_MAX_NAMES: Final = 5

SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="Where the seeds come from; stored with each new host.")
]

app = group(
    """Add hosts to crawl.

    Seeds add hosts to the table of hosts, which decides what is crawled and when. A host that is already there keeps
    its status and its cooldown.
    """
)


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    short_help = "Add hosts or start URLs for workers: the same as `comity seeds add`."
    examples = ("comity enqueue example.com https://example.org/news",)
    command(root, "enqueue", examples=examples, panel="Hosts", short_help=short_help)(add)
    root.add_typer(app, name="seeds", rich_help_panel="Hosts")


@command(
    app,
    "add",
    examples=(
        "comity seeds add example.com",
        "comity seeds add https://example.com/news example.org --source friends",
    ),
)
def add(
    context: typer.Context,
    seeds: Annotated[list[str], typer.Argument(metavar="URL|HOST", help="Hosts, or URLs to start from.")],
    source: SourceOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add hosts, or URLs to start from. If one of them cannot be used, none is added."""
    kept_source = checked_text("--source", source, _LONGEST_SOURCE)
    invocation = read_invocation(context, state, as_json)
    from comity.rules.seed_list import read_seed

    read = [read_seed(text, collapse=invocation.collapse) for text in seeds]
    from comity.operate.seeds import add_seeds

    with invocation.open_or_make() as opened:
        report = add_seeds(
            opened.database,
            opened.clock,
            read,
            source=kept_source,
            weights=opened.settings.weights,
            frontier=opened.frontier,
        )
    if invocation.as_json:
        write_json(_document(report, seeds_read=len(read)))
    else:
        _write_report(report)


@command(
    app,
    "load",
    examples=(
        "comity seeds load tranco_20260205.csv",
        "grep '\\.org$' hosts.txt | comity seeds load - --source orgs",
        "comity seeds load --from-redis crawl:seeds",
    ),
)
def load(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="The list; - reads stdin.")] = None,
    from_redis: Annotated[
        str | None,
        typer.Option("--from-redis", metavar="KEY", help="Read a set, sorted set or list in Redis instead; see above."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Where the seeds come from; stored with each new host.",
            show_default="the file's name",
        ),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that cannot be used.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load a list of seeds: one host or URL per line, or rank,host as in popular rankings.

    Blank lines and lines that begin with # are skipped. The whole list is checked first and stored in one transaction:
    if a line is bad, nothing is stored, unless you add --skip-bad.

    With --from-redis the seeds are the members of a set, sorted set (score = rank, 1 is best) or list in the Redis of
    COMITY_SEEDS_REDIS_URL or COMITY_REDIS_URL. Members that were stored are removed from it; others stay.
    """
    if (file is None) == (from_redis is None):
        raise BadInput("name a list, as in comity seeds load hosts.txt, or --from-redis KEY")
    kept_source = checked_text("--source", source, _LONGEST_SOURCE)
    invocation = read_invocation(context, state, as_json)
    if from_redis is not None:
        _load_from_redis(invocation, from_redis, kept_source, skip_bad=skip_bad)
        return
    assert file is not None
    kept_source = kept_source or _source_from(file)
    name = "stdin" if file == "-" else visible(file)
    from comity.operate.seeds import check_seed_list, store_seeds

    with ProgressBars() as bars:
        with _opened(file) as stream:
            checked = check_seed_list(
                stream,
                name=name,
                collapse=invocation.collapse,
                skip_bad=skip_bad,
                on_bytes=bars.bar("Checking", _size(stream)),
            )
        with closing(checked):
            if not checked.count:
                raise BadInput(f"{name} contains no seed; a seed list has one host or URL per line")
            with invocation.open_or_make() as opened:
                report = store_seeds(
                    opened.database,
                    opened.clock,
                    checked,
                    source=kept_source,
                    weights=opened.settings.weights,
                    frontier=opened.frontier,
                    on_stored=bars.bar("Storing", checked.count),
                )
    if invocation.as_json:
        skipped = [{"line": line.number, "reason": line.reason} for line in checked.bad_lines]
        write_json(
            {**_document(report, seeds_read=checked.count), "lines_skipped": checked.bad_count, "skipped": skipped}
        )
    else:
        _write_report(report)
        _note_skipped(checked)


def _load_from_redis(invocation: Invocation, key: str, source: str | None, *, skip_bad: bool) -> None:
    source = source or f"redis:{key}"[:_LONGEST_SOURCE]
    url = invocation.settings.seeds_redis_url or invocation.settings.redis_url
    if not url:
        raise BadInput("--from-redis needs a Redis: set COMITY_SEEDS_REDIS_URL or COMITY_REDIS_URL")
    if not source.isprintable():
        raise BadInput("--from-redis: the key contains invisible characters")
    from comity.operate.seeds import SeedSet, load_seed_set

    with closing(SeedSet(url, key)) as seeds:
        count = len(seeds)
        if not count:
            raise BadInput(
                f"there are no seeds under {key} in Redis; add some with SADD {key} example.com, or with their rank: "
                f"ZADD {key} 1 example.com"
            )
        with invocation.open_or_make() as opened, ProgressBars() as bars:
            loaded = load_seed_set(
                opened.database,
                opened.clock,
                seeds,
                source=source,
                collapse=invocation.collapse,
                skip_bad=skip_bad,
                weights=opened.settings.weights,
                frontier=opened.frontier,
                on_stored=bars.bar("Storing", count),
            )
    if invocation.as_json:
        skipped = [{"member": member, "reason": reason} for member, reason in loaded.bad_members]
        write_json(
            {
                **_document(loaded.report, seeds_read=loaded.taken),
                "members_skipped": loaded.bad_count,
                "skipped": skipped,
            }
        )
        return
    _write_report(loaded.report)
    if loaded.bad_count:
        note(f"{counted(loaded.bad_count, 'member')} of {key} could not be used and were not removed:")
        for member, reason in loaded.bad_members[:_MAX_NAMES]:
            note(f"  {member}: {reason}")


def _source_from(file: str) -> str | None:
    """The file's name without its ending, as `tranco_20260205`."""
    stem = Path(file).stem
    return stem[:_LONGEST_SOURCE] if file != "-" and stem.isprintable() else None


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    """The bytes of a file or of stdin; `BadInput` if it cannot be read."""
    if file == "-":
        yield open_stdin().buffer
        return
    try:
        with open(file, "rb") as stream:
            yield stream
    except OSError as error:
        raise BadInput(f"cannot read {visible(file)}: {error.strerror or error}") from None


def _size(stream: BinaryIO) -> int | None:
    """How many bytes there are to read; None if that is unknown."""
    return os.fstat(stream.fileno()).st_size or None


def _document(report: SeedReport, *, seeds_read: int) -> dict[str, Any]:
    from comity.doors.schemas.decisions import seeds_added

    return seeds_added(report, seeds_read=seeds_read).document()


def _write_report(report: SeedReport) -> None:
    known = report.hosts_given - report.hosts_new
    parts = [f"{counted(report.hosts_new, 'new host')}", f"{known:,} already known" if known else ""]
    parts.append(f"{counted(report.urls_queued, 'URL')} queued" if report.urls_queued else "")
    write_line(", ".join(part for part in parts if part) + ".", Cell("  See them: comity domains list", "dim"))
    if report.taken_down:
        note(f"Skipped because of a takedown: {_some(report.taken_down)}.")


def _note_skipped(checked: CheckedSeeds) -> None:
    if not checked.bad_count:
        return
    note(f"{counted(checked.bad_count, 'line')} could not be used:")
    for line in checked.bad_lines[:_MAX_NAMES]:
        note(f"  line {line.number}: {line.reason}")
    if checked.bad_count > _MAX_NAMES:
        note(f"  … and {checked.bad_count - _MAX_NAMES:,} more")


def _some(names: tuple[str, ...]) -> str:
    rest = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + rest
