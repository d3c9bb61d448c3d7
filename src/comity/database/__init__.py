"""The only room that speaks SQL: tables, connections, migrations and one file of named statements per table."""
