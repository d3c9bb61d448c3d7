"""Job postings: the page's own words enter, their meaning in one vocabulary leaves; tables and small pure functions."""
