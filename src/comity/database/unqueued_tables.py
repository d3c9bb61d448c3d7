"""The table of URLs that were seen and not queued: what `comity why` says of a URL that was left.

Apart from `tables`, which is long enough; `declared` knows both.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, SmallInteger, String, Table, Uuid, text

from comity.database.tables import metadata

URL_CHARACTERS: Final = 60
"""How much of an address is kept, for people who list them; the key stands for the whole."""
MOST_PER_HOST: Final = 10_000

# One row for a URL and the host whose pages named it. It is looked up by its key alone, because the URL may be on a
# host that is not known. At most 200 bytes a row on disk: so it has one index, a short address and a plain time.
unqueued_urls: Final = Table(
    "unqueued_urls",
    metadata,
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url", String(URL_CHARACTERS), nullable=False),
    Column("code", String(20), nullable=False),
    Column("found_by", SmallInteger(), nullable=False, server_default=text("0")),
    Column("found_on", BigInteger(), nullable=False, server_default=text("0")),
    # Seconds since 1970: a third of what an instant takes in SQLite.
    Column("seen_at", BigInteger(), nullable=False),
    sqlite_with_rowid=False,
)
