"""What an operator may do to the state: seed, reset, merge, set a policy, take a host down."""
