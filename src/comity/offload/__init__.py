"""Work done in child processes, bounded in time and memory; bodies go there through shared memory."""
