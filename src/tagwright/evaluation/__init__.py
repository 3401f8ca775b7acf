"""How good a tagging is."""
