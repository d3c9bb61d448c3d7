"""What a long-running command does, once for every front door: crawl, work, serve sources, supervise, observe."""
