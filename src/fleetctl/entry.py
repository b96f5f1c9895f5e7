"""The command `fleetctl`. `--version` is answered at once; everything else is the command line's."""

import sys


def main() -> int:
    if sys.argv[1:] == ["--version"] and sys.stdout and sys.stderr:
        from fleetctl import __version__

        try:
            print(f"fleetctl {__version__}", flush=True)
            return 0
        except OSError as error:
            from fleetctl.cli import streams  # not at the top: most of what is printed arrives

            return streams.give_up(error)
    from fleetctl.machine import collector

    try:
        with collector.paused():
            from fleetctl.cli import run  # not at the top: it imports click

            return run(sys.argv[1:])
    except KeyboardInterrupt:  # before or after the command line, which tells of its own
        return 130
