"""Full-text search in the state itself: tables, index, queries, and the outbox that feeds every search engine."""
