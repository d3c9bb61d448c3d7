"""Job postings: takes the page's own words, returns their meaning in one vocabulary; tables and pure functions."""
