"""Exit codes, errors, streams: what every command has in common."""

import os
import re
import signal
import subprocess
import sys

import click
import pytest

import better_compute.cli
from better_compute import __version__
from better_compute.api.routes import ROUTES
from better_compute.cli import COMMANDS, GROUPS, family
from better_compute.cli.flags import fields
from better_compute.cli.says import FIELDS
from better_compute.domain.problems import ComputeError, Problem, Source
from tests.better_compute.cli.conftest import Run


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: str) -> str:
        raise error

    monkeypatch.setattr(family, "family_of", fail)


def test_the_version_is_said_without_loading_anything() -> None:
    program = (
        "import sys; sys.argv = ['better-compute', '--version']; from better_compute.entry import main; main();"
        "assert not {'click', 'json', 'msgspec', 'httpx'} & set(sys.modules), sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"better-compute {__version__}\n"


def test_the_overview_loads_no_command(cli: Run) -> None:
    program = (
        "import sys; from better_compute.cli.run import run; run(['--help']);"
        "assert not {'msgspec', 'httpx', 'sqlalchemy', 'pydantic'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert all(f"  {name}" in done.stdout for name in [*COMMANDS, *GROUPS])
    assert "_BETTER_COMPUTE_COMPLETE" in done.stdout
    assert cli("--version").out == f"better-compute {__version__}\n"


def commands() -> list[tuple[str, ...]]:
    context = click.Context(better_compute.cli.cli)
    found: list[tuple[str, ...]] = [(name,) for name in COMMANDS]
    for group in GROUPS:
        methods = better_compute.cli.cli.get_command(context, group)
        assert isinstance(methods, click.Group)
        found += [(group,), *((group, method) for method in methods.list_commands(context))]
    return found


def test_every_command_has_help_with_an_example(cli: Run) -> None:
    names = commands()
    assert len(names) > 40
    for name in names:
        done = cli(*name, "--help")
        assert done.code == 0
        assert f"Example: better-compute {name[0]}" in " ".join(done.out.split()), name


def test_every_flag_says_what_it_means(cli: Run) -> None:
    context = click.Context(better_compute.cli.cli)
    for group in GROUPS:
        methods = better_compute.cli.cli.get_command(context, group)
        assert isinstance(methods, click.Group)
        for method in methods.list_commands(context):
            command = methods.get_command(context, method)
            assert command is not None
            silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
            assert silent == [], (group, method)
    assert set(FIELDS) == {field.encode_name for route in ROUTES.values() for field in fields(route.input)}
    assert "Events of this type, such as pool.created" in " ".join(cli("events", "list", "--help").out.split())


def test_the_help_of_a_group_cuts_no_sentence(cli: Run) -> None:
    for group in GROUPS:
        said = cli(group, "--help").out
        assert "..." not in said.partition("Commands:")[2], group
    said = " ".join(cli("pools", "--help").out.split())
    assert "in order of pool and tenant. archive Retires a pool" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pool"], "USAGE: there is no command 'pool'; did you mean \"pools\"?\nHint: see better-compute --help\n"),
        (
            ["pools", "lst"],
            "there is no command 'lst'; did you mean \"list\"?\nHint: see better-compute pools --help\n",
        ),
        (["machines", "list"], "there is no command 'machines'"),
        (["pools", "list", "--limt", "3"], "--limit"),
        (["pools", "list"], "which control plane? Give --server URL, or --database URL and --as IDENTITY"),
        (["pools", "list", "--as", "a"], "; or set BETTER_COMPUTE_SERVER or BETTER_COMPUTE_DATABASE"),
        (["pools", "list", "--server", "http://x", "--database", "y"], "give --server or --database, not both"),
        (["pools", "list", "--database", "y"], "say who asks: --as IDENTITY"),
        (["pools", "list", "--server", "http://x"], "who asks? Set BETTER_COMPUTE_TOKEN, or give --token-file"),
        (
            ["pools", "list", "--server", "http://x", "--token-file", "/dev/null", "--as", "a"],
            "--as goes with --database",
        ),
        (["pools", "offer", "--server", "http://x"], "Missing option '--pool-id'"),
        (["token"], "Missing argument 'IDENTITY'"),
        (["\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_a_wrong_call_is_64_and_says_what_would_be_right(cli: Run, arguments: list[str], says: str) -> None:
    done = cli(*arguments)
    assert done.code == 64
    assert says in done.err
    assert done.out == ""


def test_no_arguments_show_the_help_and_are_a_wrong_call(cli: Run) -> None:
    done = cli()
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("Usage: better-compute")


def test_an_error_is_told_as_code_place_message_and_hint(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(
        "INVALID_INPUT", "r", "no \x1b good", "sites[0].kind", "say \u202e so", source=Source("w.yaml", 3, 7)
    )
    raising(monkeypatch, ComputeError(problem, Problem("CONFLICT", "", "and this")))
    done = cli("family", "x")
    assert done.code == 1
    assert done.err == (
        "INVALID_INPUT: w.yaml:3:7: sites[0].kind: no \\x1b good\nHint: say \\u202e so\nCONFLICT: and this\n"
    )


def test_a_fault_of_ours_is_one_line_and_a_traceback_only_when_asked_for(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, ZeroDivisionError("\x07"))
    done = cli("family", "x")
    assert done.code == 1
    assert done.err == "INTERNAL_ERROR: ZeroDivisionError: \\x07\nHint: set BETTER_COMPUTE_DEBUG=1 to see where\n"
    for name in ("BETTER_COMPUTE_DEBUG", "FLEETCTL_DEBUG"):
        with monkeypatch.context() as patched:
            patched.setenv(name, "1")
            assert "Traceback" in cli("family", "x").err


def test_an_interrupt_is_130(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert cli("family", "x").code == 130


def test_a_termination_is_143(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return ""

    monkeypatch.setattr(family, "family_of", fail)
    with pytest.raises(SystemExit) as caught:
        cli("family", "x")
    assert caught.value.code == 143


def process(script: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", script], capture_output=True, env=os.environ | environ, check=False)


BINARY = f"{os.path.dirname(sys.executable)}/better-compute"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_disk_that_is_full_is_no_fault_of_ours() -> None:
    done = process(f"{BINARY} family x > /dev/full")
    assert (done.returncode, done.stderr) == (1, b"STOPPED: No space left on device\n")


def test_a_stdout_that_is_closed_is_no_fault_of_ours() -> None:
    done = process(f"{BINARY} family x >&-")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_goes_away_is_no_noise() -> None:
    done = process(f'yes "NVIDIA L40S" | {BINARY} family | head -1')
    assert done.stdout == b"L40S\n"
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({"PYTHONIOENCODING": "cp1252"}, b"\\u0141"),
        # click takes a console of ASCII alone for one that was set up wrong, and writes UTF-8.
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "Ł".encode()),
    ],
)
def test_a_console_without_a_letter_stops_nothing(
    database: str, fleet: Run, environ: dict[str, str], shown: bytes
) -> None:
    fleet("sites", "create", "--name", "Łódź", "--kind", "shared", "--region", "eu")
    done = process(f"{BINARY} sites list --as sa_fleet --database {database}", **environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout


def test_there_is_no_colour(cli: Run) -> None:
    assert "\x1b" not in cli("--help").out + cli("pools", "lst").err + cli("pools", "offer", "--help").out


def test_completion_is_clicks() -> None:
    words = {"_BETTER_COMPUTE_COMPLETE": "bash_complete", "COMP_WORDS": "better-compute pools lis", "COMP_CWORD": "2"}
    assert process(BINARY, **words).stdout == b"plain,list\nplain,listOffers\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["https://u:HUNTER2@h"],
        ["pools", "https://u:HUNTER2@h"],
        ["pools", "list", "--server", "https://u:HUNTER2@h"],
        ["pools", "list", "--limit", "https://u:HUNTER2@h"],
        ["world", "https://u:HUNTER2@h"],
        ["family", "--x=https://u:HUNTER2@h", "##vso[x]", "\n::error::x"],
    ],
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_an_error_says_no_user_part_of_a_url_and_no_command_to_a_log(
    arguments: list[str], debug: str, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BETTER_COMPUTE_DEBUG", debug)
    done = cli(*arguments)
    assert done.code != 0
    assert not re.search(r"HUNTER2|^\s*::|##\w*\[", done.err + done.out, re.MULTILINE), done
