"""The fetch room: one request goes out, one answer or one failure comes back, and nothing a server does can
make it dial a forbidden address, wait forever or hold more memory than was allowed."""
