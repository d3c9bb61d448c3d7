"""The politeness ledger: its tables, the statements that append to it, and those that read it for an audit."""
