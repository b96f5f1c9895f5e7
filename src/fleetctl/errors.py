"""How a command ends other than well: the frozen exit codes, and the errors of this project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from better_compute.domain.problems import Problem

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_CHANGES = 2
EXIT_BLOCKED = 3
EXIT_STALE = 4
EXIT_PARTIAL = 5
EXIT_USAGE = 64
EXIT_INTERRUPTED = {"SIGINT": 130, "SIGTERM": 143}

STOPPED = "STOPPED"
ENDED = {EXIT_STALE: "MISMATCH", EXIT_USAGE: "USAGE"}
"""Exit code -> the code that is printed where a run ends so; of all others: `STOPPED`."""


class Stop(Exception):  # noqa: N818 (it ends a run, and not always because of an error)
    """The run ends here, with this exit code; `details` are lines below the message, `rule` names why to programs."""

    def __init__(
        self, exit_code: int, message: str, details: Sequence[str] = (), hint: str = "", rule: str = ""
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.rule = rule
        self.message = message
        self.details = tuple(details)
        self.hint = hint


class FilesError(Exception):
    """Fleet files that cannot be read: every problem found, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{p.source}: {p.message}" for p in self.problems))
