"""Stored pages for the console: searched, shown and queried in a child process with limits of time and memory."""
