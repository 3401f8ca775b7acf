"""Other packages beside us."""
