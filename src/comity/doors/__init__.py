"""The front doors: they parse requests of people and programs and render the answers, and decide nothing."""
