"""Files of sentences, in and out."""
