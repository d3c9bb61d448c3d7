"""Parts: finished files of pages, what is noted about each, and how they are joined into one file."""
