"""The only room with SQL: tables, connections, migrations, and a module or package of named statements per table."""
