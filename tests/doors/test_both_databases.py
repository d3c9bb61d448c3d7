"""The same commands on a file and on a server that is shared."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from tests.doors.command_line import CommandLine


def execute(url: str, *statements: str) -> None:
    """Write by hand, past all rules."""
    address = make_url(url)
    driver = "postgresql+psycopg" if address.get_backend_name().startswith("postgres") else "sqlite"
    engine = create_engine(address.set(drivername=driver))
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.fixture
def shared(comity: CommandLine, database_url: str, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command with its state named by the environment."""
    monkeypatch.setenv("COMITY_DATABASE_URL", database_url)
    assert comity.json("db", "upgrade")["is_current"] is True
    return comity


def test_a_host_goes_through_all_commands(shared: CommandLine, database_url: str) -> None:
    shared.done("seeds", "add", "https://www.Example.com/a", "other.example", "--source", "hand")
    execute(
        database_url,
        "UPDATE domains SET status = 'active' WHERE domain = 'example.com'",
        "UPDATE domains SET status = 'blocked', block_reason = 'why', pages_crawled = 4, images_stored = 2, "
        "last_crawled_at = '2026-02-05 14:31:00' WHERE domain = 'example.com'",
        "INSERT INTO domains (domain, pages_crawled) VALUES ('WWW.Other.example', 5)",
    )
    assert shared.json("recalculate-priorities") == {"hosts": 3}
    (blocked,) = shared.json("domains", "list", "--status", "blocked")
    assert (blocked["domain"], blocked["last_crawled_at"]) == ("example.com", "2026-02-05T14:31:00.000Z")
    assert "└─ reason: why" in shared.done("domain-status").out
    assert {line["old"]: line["action"] for line in shared.json("domains", "merge")} == {"WWW.Other.example": "folded"}
    assert {line["domain"]: line["image_yield_rate"] for line in shared.json("domains", "top")} == {
        "example.com": 0.5,
        "other.example": 0.0,
    }
    assert shared.json("domains", "reset", "example.com")["status"] == "pending"
    assert shared.json("domains", "claims")["statuses"] == [{"status": "pending", "hosts": 2, "waiting": 2}]
    assert shared.json("policy", "set", "example.com", "--max-pages", "7")["max_pages"] == 7
    assert shared.json("takedown", "add", "example.com")[0]["urls_dropped"] == 1
    info = shared.json("domains", "info", "example.com")
    assert (info["frontier"], info["policy"]["max_pages"]) == ({"queued": 0, "done": 0, "dropped": 1, "too_deep": 0}, 7)
    shared.done("takedown", "remove", "example.com")
    assert list(shared.folder.iterdir()) == []


def test_a_list_with_a_bad_line_writes_nothing_and_a_good_one_everything(shared: CommandLine) -> None:
    lines = [f"{rank},h{rank}.example" for rank in range(1, 2001)]
    (shared.folder / "bad.csv").write_text("\n".join([*lines, "http://"]))
    (shared.folder / "good.csv").write_text("\n".join(lines))
    assert shared("seeds", "load", "bad.csv").code == 2
    assert shared.json("domains", "list") == []
    assert shared.json("seeds", "load", "good.csv")["hosts_new"] == 2000
    assert shared.json("domains", "info", "h7.example")["seed_rank"] == 7


def test_a_newer_state_is_left_alone(shared: CommandLine, database_url: str) -> None:
    execute(database_url, "UPDATE alembic_version SET version_num = '9999'")
    answer = shared("seeds", "add", "example.com")
    assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert "was written by a newer Comity" in answer.err


def test_a_shared_state_is_migrated_only_when_an_operator_says_so(
    comity: CommandLine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_DATABASE_URL", postgres_url)
    answer = comity("domains", "list")
    assert answer.code == 1
    assert "run `comity db upgrade`" in answer.err
    assert comity.json("db", "current")["revision"] is None
    comity.done("db", "upgrade")
    assert comity.json("domains", "list") == []
    assert comity.json("db", "downgrade", "base", "--yes")["revision"] is None


def test_a_database_that_does_not_exist_is_one_line(comity: CommandLine, postgres_url: str) -> None:
    nowhere = make_url(postgres_url).set(database="no_such_database").render_as_string(hide_password=False)
    answer = comity("domains", "list", "--state", nowhere)
    assert (answer.code, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert "no_such_database" in answer.err
