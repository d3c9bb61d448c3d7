"""Reading a whole seed list before anything of it is stored.

Bytes enter, from a file or a pipe, of any length. What is good of them waits in a temporary file, so that memory
stays bounded, a pipe is read once, and a file that changes meanwhile does no harm; then all of it is stored in one
transaction.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, BinaryIO, Final

from comity.clock import Clock
from comity.database.connection import Database
from comity.frontier.store import FrontierStore
from comity.model.errors import BadInput
from comity.model.host import CanonicalHost, Seed
from comity.operate.seeds import SeedReport, add_seed_batches
from comity.rules.priority import PriorityWeights
from comity.rules.seed_list import BadLine, read_seed_lines

BATCH: Final = 20_000
_LONGEST_LINE: Final = 64 * 1024
_BAD_LINES_KEPT: Final = 100
_HELD_IN_MEMORY_BYTES: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class CheckedSeeds:
    """A list that was read to its end: the seeds wait in `_spool`; of its bad lines the first are kept."""

    count: int
    bad_count: int
    bad_lines: tuple[BadLine, ...]
    _spool: IO[bytes]

    def batches(self, size: int = BATCH) -> Iterator[list[Seed]]:
        """The seeds again, a bounded number at a time."""
        self._spool.seek(0)
        lines = iter(self._spool)
        while batch := [_read_back(line) for line in islice(lines, size)]:
            yield batch

    def close(self) -> None:
        """Give the temporary file back."""
        self._spool.close()


def check_seed_list(
    stream: BinaryIO,
    *,
    name: str,
    collapse: bool = False,
    skip_bad: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> CheckedSeeds:
    """Read a list to its end; `BadInput` names the first bad line, unless bad lines are to be passed over."""
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_HELD_IN_MEMORY_BYTES)  # noqa: SIM115  # lives on in the result
    try:
        return _check(_lines(stream, name, on_bytes), spool, name, collapse, skip_bad)
    except BaseException:
        spool.close()
        raise


def _check(lines: Iterator[str], spool: IO[bytes], name: str, collapse: bool, skip_bad: bool) -> CheckedSeeds:
    count, bad_count = 0, 0
    bad_lines: list[BadLine] = []
    for seed in read_seed_lines(lines, collapse=collapse):
        if isinstance(seed, Seed):
            spool.write(_written_down(seed))
            count += 1
            continue
        if not skip_bad:
            raise BadInput(f"{name}, line {seed.number}: {seed.reason}")
        bad_count += 1
        if len(bad_lines) < _BAD_LINES_KEPT:
            bad_lines.append(seed)
    return CheckedSeeds(count, bad_count, tuple(bad_lines), spool)


def store_seeds(
    database: Database,
    clock: Clock,
    checked: CheckedSeeds,
    *,
    source: str | None = None,
    weights: PriorityWeights | None = None,
    on_stored: Callable[[int], None] | None = None,
    frontier: FrontierStore | None = None,
) -> SeedReport:
    """Store a list that was checked, in one transaction: all of it, or nothing."""

    def told() -> Iterator[list[Seed]]:
        stored = 0
        for batch in checked.batches():
            yield batch
            stored += len(batch)
            if on_stored is not None:
                on_stored(stored)

    return add_seed_batches(database, clock, told(), source=source, weights=weights, frontier=frontier)


def _lines(stream: BinaryIO, name: str, on_bytes: Callable[[int], None] | None) -> Iterator[str]:
    """Bounded lines of text; what cannot be a text file is refused at once."""
    number, position = 0, 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        position += len(line)
        if b"\0" in line:
            raise BadInput(f"{name}, line {number}: not a text file; a seed list is plain text, one host or URL a line")
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise BadInput(f"{name}, line {number}: longer than {_LONGEST_LINE} bytes; is this a seed list?")
        if on_bytes is not None and number % BATCH == 0:
            on_bytes(position)
        # A byte that is no UTF-8 becomes a character that no address may have: the line is bad, and named.
        yield line.decode("utf-8", "surrogateescape")


def _written_down(seed: Seed) -> bytes:
    rank = "" if seed.rank is None else str(seed.rank)
    return "\t".join((seed.host.authority, seed.host.parent_domain or "", rank, seed.url or "")).encode() + b"\n"


def _read_back(line: bytes) -> Seed:
    authority, parent, rank, url = line.decode().rstrip("\n").split("\t")
    return Seed(CanonicalHost(authority, parent or None), url or None, int(rank) if rank else None)
