"""The language of the SQL door: tokens, statements and options."""
