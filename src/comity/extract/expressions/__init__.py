"""Evaluating expressions on a page: takes its tree and columns, returns their values within a budget of steps."""
