"""What a user knows of labels."""
