"""`python -m tagwright`: the command line."""

from tagwright.cli import main

main(prog_name="tagwright")
