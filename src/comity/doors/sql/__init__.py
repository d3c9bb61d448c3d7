"""`comity.sql`: DuckDB with CRAWL statements.

with comity.sql.connect("shop.duckdb") as connection:
    connection.execute("CRAWL (SELECT 'https://example.com/') INTO pages WITH (user_agent 'MyBot/1.0')")
    connection.sql("SELECT url, http_status FROM pages").show()
"""

from comity.doors.sql.connection import SqlConnection, connect

__all__ = ["SqlConnection", "connect"]
