"""A server that is killed in the middle of grants and reports: nothing that it acknowledged is lost."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import select

from comity.database import robots as robots_table
from comity.database.connection import open_database
from comity.database.queue.tables import grants
from comity.database.tables import politeness_ledger
from comity.database.types import from_seconds
from comity.integrations.grants import GrantClient, ServerSilent
from comity.reports.politeness import verify_politeness
from tests.integrations.mixed import Trial, serve
from tests.servers.ports import free_port

HOSTS = [f"host-{number}.example" for number in range(40)]


@pytest.mark.roomy
def test_nothing_acknowledged_is_lost(migrated_sqlite_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    shutil.copy(migrated_sqlite_file, path)
    trial = Trial(tmp_path, f"sqlite:///{path}", delay_s=0.01)
    database = open_database(path)
    with database.write() as connection:
        for host in HOSTS:
            values = {"origin": f"https://{host}", "host": host, "access": "allow_all", "http_status": 404}
            robots_table.put(connection, values | {"expires_at": from_seconds(time.time() + 3600)})
    port = free_port()
    server = serve(trial, port)
    given: set[str] = set()
    reported: set[str] = set()
    clients = [
        threading.Thread(target=_work, args=(f"http://127.0.0.1:{port}", number, given, reported))
        for number in range(3)
    ]
    try:
        for client in clients:
            client.start()
        deadline = time.monotonic() + 60
        while len(reported) < 60 and time.monotonic() < deadline:
            time.sleep(0.01)
        server.send_signal(signal.SIGKILL)
        server.wait()
        for client in clients:
            client.join(60)
        assert len(reported) >= 60
        with database.read() as connection:
            rows = {str(row.id): row for row in connection.execute(select(grants))}
            entries = connection.execute(select(politeness_ledger).where(politeness_ledger.c.purpose == "grant")).all()
        assert given <= rows.keys()
        assert {rows[each].outcome for each in reported} == {"reported"}
        assert len(entries) == sum(row.outcome == "reported" for row in rows.values())
        assert [audit.violations for audit in verify_politeness(database) if audit.violations] == []
    finally:
        database.close()
        if server.poll() is None:
            server.kill()


def _work(url: str, number: int, given: set[str], reported: set[str]) -> None:
    """Ask, report, and write down what was acknowledged, until the server is gone."""
    client = GrantClient(url, None, f"client-{number}")
    own = HOSTS[number::3]
    try:
        while True:
            answers = [each for each in client.grant([f"https://{host}/" for host in own]) if each.is_allowed]
            given.update(str(each.grant_id) for each in answers)
            client.report([each.report(time.monotonic(), 200, 0.01, None) for each in answers] or [_NONE])
            reported.update(str(each.grant_id) for each in answers)
    except ServerSilent:
        client.close()


_NONE = {"grant_id": "00000000-0000-0000-0000-000000000000"}
