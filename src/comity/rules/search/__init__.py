"""Job search rules that every engine shares: query terms, text folding, filters and facets, highlighting."""
