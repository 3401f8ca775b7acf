"""What training makes and tagging uses."""
