"""Where `better-compute` starts: what can be answered at once is answered without loading anything."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command of `sys.argv`; exits with its code."""
    if sys.argv[1:] == ["--version"]:
        from better_compute import __version__

        print(f"better-compute {__version__}")
        return
    from better_compute.cli.run import run

    sys.exit(run(sys.argv[1:]))
