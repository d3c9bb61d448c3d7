"""A process that runs one statement: `python -m tests.doors.sql.working FOLDER STATEMENT [STATE]`."""

from __future__ import annotations

import sys

import comity


def main(folder: str, statement: str, state: str | None = None) -> None:
    networks = ["127.0.0.0/8"]
    with comity.sql.connect(
        f"{folder}/web.duckdb", state=state, allow_networks=networks, contact="b@example.org"
    ) as connection:
        print("begun", flush=True)
        try:
            connection.execute(statement)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            return
        print("ended", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
