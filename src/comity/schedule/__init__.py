"""When sources are read again: the zones that rules need from outside, and a seeded simulation of every schedule."""
