"""Files of sentences: what reads and writes them, and a file per format."""
