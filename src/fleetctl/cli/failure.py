"""How a command ends other than well: one map from errors to exit codes, one form of what is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace

import click

from better_compute.domain.escape import escape
from better_compute.domain.problems import INTERNAL_ERROR, ComputeError, Problem
from fleetctl.cli import streams
from fleetctl.errors import ENDED, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_STALE, EXIT_USAGE, STOPPED, FilesError, Stop

DEBUG = "FLEETCTL_DEBUG"
_LONGEST = 300
_NEVER_OFFERED = frozenset({"--allow", "--prune", "--yes"})
"""Flags that let something be taken away: nobody is led to them by a slip."""


def tell(error: BaseException, *, verbose: bool = True) -> int:
    """Say on stderr what went wrong, and give the exit code. The traceback is shown to those who ask for it."""
    if os.environ.get(DEBUG) == "1":
        import traceback  # not at the top, nor below: few ask

        lines = "".join(traceback.format_exception(error)).split("\n")
        streams.say("\n".join(map(escape, lines)))
    streams.say("".join(_text(error, verbose)))
    return exit_code(error)


def report(error: Exception, form: streams.Format, *, verbose: bool) -> None:
    """Print on stdout why there is no other result; `tell` says it to people as well."""
    if isinstance(error, BrokenPipeError) or _is_interrupt(error):
        return
    from fleetctl.report.problems import of_problems  # not at the top: `--help` reports nothing

    problems = _problems(error) or (_as_problem(error),)
    streams.show(of_problems(list(map(_as_text, problems))), form, verbose=verbose)


def exit_code(error: BaseException) -> int:
    """The frozen exit code of a run that this error ended."""
    if isinstance(error, Stop):
        return error.exit_code
    if isinstance(error, click.UsageError):
        return EXIT_USAGE
    if _is_interrupt(error):
        return EXIT_INTERRUPTED["SIGINT"]
    return EXIT_ERROR


def _text(error: BaseException, verbose: bool) -> Iterator[str]:
    if problems := _problems(error):
        yield _rendered(problems, verbose)
        if isinstance(error, ComputeError) and error.retry_after_ms is not None:
            yield _hint(f"ask again in {max(1, round(error.retry_after_ms / 1000))} s")
    elif isinstance(error, click.UsageError):
        yield from _usage(error)
    elif isinstance(error, BrokenPipeError) or _is_interrupt(error):
        yield ""
    else:
        message, details = (error.message, error.details) if isinstance(error, Stop) else ("", ())
        problem = _as_problem(error)
        rule = f" [{problem.rule}]" if exit_code(error) == EXIT_STALE and problem.rule else ""
        yield _line(problem.code, f"{message or problem.message}{rule}")
        yield from (f"  {escape(detail)}\n" for detail in details)
        yield _hint(problem.hint)


def _as_text(problem: Problem) -> Problem:
    """A problem may name what is not UTF-8, such as a file or a revision: its bytes are told as escapes."""
    path, message, hint = (
        text.encode(errors="backslashreplace").decode() for text in (problem.path, problem.message, problem.hint)
    )
    return replace(problem, path=path, message=message, hint=hint)


def _as_problem(error: BaseException) -> Problem:
    """An error that brings no problems of its own."""
    if isinstance(error, Stop):
        message = ": ".join((error.message, "; ".join(error.details))) if error.details else error.message
        return Problem(ENDED.get(error.exit_code, STOPPED), error.rule, message, hint=error.hint)
    if isinstance(error, OSError):
        name = f": {error.filename}" if error.filename else ""
        return Problem(STOPPED, "", f"{error.strerror or type(error).__name__}{name}")
    from better_compute.domain.policy.urls import mask_cut  # not at the top, nor below: few runs end so

    said = mask_cut(f"{type(error).__name__}: {error}", _LONGEST)
    hint = f"{DEBUG}=1 shows where; please report it with that"
    return Problem(INTERNAL_ERROR, "", f"this should not have happened ({said})", hint=hint)


def _problems(error: BaseException) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, ComputeError | FilesError) else ()


def _rendered(problems: tuple[Problem, ...], verbose: bool) -> str:
    from fleetctl.report.problems import of_problems  # as above

    return streams.in_words(of_problems(problems), sys.stderr, verbose=verbose)


def _usage(error: click.UsageError) -> Iterator[str]:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        yield f"{error.format_message()}\n"
        return
    if isinstance(error, click.NoSuchOption):
        near = [flag for flag in error.possibilities or () if flag not in _NEVER_OFFERED]
        error = click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)
    yield _line(ENDED[EXIT_USAGE], error.format_message())
    yield _hint(f"see {error.ctx.command_path} --help" if error.ctx else "")


def _is_interrupt(error: BaseException) -> bool:
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def _line(code: str, message: str) -> str:
    return f"{code}: {escape(message)}\n"


def _hint(text: str) -> str:
    return f"Hint: {escape(text)}\n" if text else ""
