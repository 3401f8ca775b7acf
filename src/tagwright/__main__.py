"""`tagwright` and `python -m tagwright`: the command line."""

import atexit
import contextlib
import os
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
    code = ending.code(code)
    if ending.number is not None and isinstance(code, int):
        # Python itself would end by SIGINT, whatever the code, where an extension module was interrupted in its start.
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    start()
