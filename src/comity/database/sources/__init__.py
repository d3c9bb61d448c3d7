"""Sources and their postings: tables and statements."""
