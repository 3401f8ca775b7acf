"""Code that is run within limits of memory and time that are far above what it needs."""

import os
import resource
import subprocess
import sys
import textwrap


def run_limited(code, *arguments, megabytes=3000, seconds=300):
    """Run Python code in a process of its own, and return what became of it."""
    # A sanitizer reserves more address space than any limit allows.
    limits = {} if "libasan" in os.environ.get("LD_PRELOAD", "") else {resource.RLIMIT_AS: megabytes << 20}
    limits[resource.RLIMIT_CPU] = seconds
    for limit, most in limits.items():
        hard = resource.getrlimit(limit)[1]
        limits[limit] = most if hard == resource.RLIM_INFINITY else min(most, hard)
    limits_code = "".join(f"resource.setrlimit({limit}, ({most}, {most}))\n" for limit, most in limits.items())
    command = [sys.executable, "-c", f"import resource\n{limits_code}{textwrap.dedent(code)}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
