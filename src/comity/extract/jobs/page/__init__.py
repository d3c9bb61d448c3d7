"""Jobs in HTML pages: structured data, tables, repeated links and cards, blocks without links, single postings."""
