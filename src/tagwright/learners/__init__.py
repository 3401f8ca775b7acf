"""What makes models from labelled sentences."""
