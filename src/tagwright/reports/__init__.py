"""What a model does well and badly: a page of figures and pictures, and pictures for papers and slides."""
