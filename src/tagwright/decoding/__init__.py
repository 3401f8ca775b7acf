"""Decoding and summing any scores."""
