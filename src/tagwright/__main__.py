"""`tagwright` and `python -m tagwright`: the command line."""

import contextlib
import sys
from typing import Any

from tagwright.learners.interrupts import Ending


def start() -> None:
    """Run the command line. A signal that ends it is one line, also while it starts."""
    ending = Ending()
    code: Any = 0
    try:
        from tagwright.cli.main import main

        main(prog_name="tagwright")
    except SystemExit as exit:
        code = exit.code
    except BaseException:
        if ending.number is None:
            raise
        with contextlib.suppress(OSError):
            print("Error: interrupted", file=sys.stderr)
        code = 130
    sys.exit(ending.code(code))


if __name__ == "__main__":
    start()
