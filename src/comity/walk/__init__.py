"""The conductor: admit, visit, settle. No other room calls the step rooms."""
