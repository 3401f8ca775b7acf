"""`python -m tagwright`: the command line."""

from tagwright.cli.main import main

main(prog_name="tagwright")
