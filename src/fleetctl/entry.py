"""The command `fleetctl`. `--version` is answered at once; everything else is the command line's."""

import sys


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        from fleetctl import __version__

        sys.stdout.write(f"fleetctl {__version__}\n")
        return 0
    import gc

    gc.disable()  # until the live state is read (`session`): up to there nearly everything that is made stays

    from fleetctl.cli import run  # not at the top: it imports click

    return run(sys.argv[1:])
