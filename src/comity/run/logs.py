"""The log of a long-running command, as the settings ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from comity.telemetry import events
from comity.telemetry.logs import Log, open_log

if TYPE_CHECKING:
    from comity.model.gate import DelayInForce, Wait
    from comity.settings import Settings
    from comity.walk.request import OnWait


def log_for(settings: Settings, *, as_json: bool) -> Log:
    """Open the log. If stdout is JSON, only problems are logged, unless a level was set."""
    return open_log(settings.log_format, log_level(settings, as_json=as_json), asked_for_json=as_json)


def log_level(settings: Settings, *, as_json: bool) -> str:
    """The level from which events are logged."""
    is_quiet = as_json and "log_level" not in settings.model_fields_set
    return "warning" if is_quiet else settings.log_level


def wait_logger(log: Log) -> OnWait | None:
    """What logs each wait for a host; None if the level of the log leaves them out."""
    if not log.tells(events.RATE_LIMIT_WAIT.level):
        return None

    def log_wait(host: str, wait: Wait, now: float, _delay: DelayInForce) -> None:
        seconds = round(wait.until - now, 3)
        message = f"{host}: a request waits {seconds:g} s ({wait.reason})"
        log.emit(events.RATE_LIMIT_WAIT, message, host=host, reason=str(wait.reason), seconds=seconds)

    return log_wait
