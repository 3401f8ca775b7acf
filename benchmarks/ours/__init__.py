"""Our own decoders, and the tagger as a whole."""
