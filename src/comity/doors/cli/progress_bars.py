"""Progress bars: on stderr, on a terminal only, and only for work that takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBars:
    """The bars of one command. A bar appears with its first report; a quick command shows none."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take all bars away: what they show has ended, and a prompt may follow."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def bar(self, title: str, total: int | None) -> Callable[[int], None]:
        """A function that takes how much is done; `total` is None if the end is unknown."""
        if sys.stderr is None or not sys.stderr.isatty():
            return _show_nothing
        task: tuple[Progress, TaskID] | None = None

        def show(done: int) -> None:
            nonlocal task
            if task is None and total is not None and done >= total:
                return  # done before it could be shown
            progress = self._started()
            if task is None or task[0] is not progress:
                task = (progress, progress.add_task(title, total=total))
            progress.update(task[1], completed=done, description=title if total is not None else f"{title} {done:,}")

        return show

    def _started(self) -> Progress:
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self._progress


def _show_nothing(_done: int) -> None:
    """Show nothing: stderr is not a terminal."""
