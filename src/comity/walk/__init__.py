"""The conductor: admit, visit, settle. The only room that calls the step rooms, and it calls each once."""
