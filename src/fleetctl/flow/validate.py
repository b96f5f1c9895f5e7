"""Validate: files judged without a server."""

from __future__ import annotations

from fleetctl import checks
from fleetctl.comparison import expected
from fleetctl.desired import check, declared
from fleetctl.errors import EXIT_ERROR, EXIT_OK
from fleetctl.files import FilesError
from fleetctl.flow.finished import Finished
from fleetctl.report.of_validate import of_validate
from fleetctl.report.problems import in_files
from fleetctl.request import Request
from fleetctl.session.opening import read


def validate(request: Request) -> Finished:
    """Offline: the files, and every rule that needs no live state. What is wrong is the result, whatever it is."""
    # 1. Read the files.
    try:
        wished = read(request)
    except FilesError as error:
        return Finished(of_validate(error.problems, None), EXIT_ERROR)
    # 2. Judge them by the rules.
    problems = sorted(
        [
            *declared.problems(wished),
            *check.problems(wished),
            *checks.mistakes(wished.checks),
            *expected.unknown(wished),
        ],
        key=in_files,
    )
    wrong = any(problem.severity == "error" for problem in problems)
    return Finished(of_validate(problems, wished), EXIT_ERROR if wrong else EXIT_OK)
