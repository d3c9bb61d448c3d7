"""The front doors. A door translates between a person or a program and the rooms; it decides nothing."""
