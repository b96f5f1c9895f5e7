"""Which control plane, as whom: the files' pins against flags and environment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from better_compute.domain.problems import (
    NO_PATH,
    NOT_FOUND,
    NOT_REACHED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    ComputeError,
    Problem,
)
from fleetctl.desired import Desired, Embedded, Place
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.files import read_text
from fleetctl.session import target

HERE = Path("/fleet")
URL = "https://compute.example.com"
EMBEDDED = Embedded("/fleet/.fleet/plane.db", "/fleet/world.yaml")


def files(server: str | Embedded | None = URL, caller: str | None = "sa_fleet", tenant: str = "root") -> Desired:
    return Desired(fleet="default", tenant_id=tenant, caller=caller, key_prefix=None, server=server, entries={})


def choose(desired: Desired, flag: str | None = None, token_file: Path | None = None, **environ: str) -> target.Target:
    named = {f"FLEETCTL_{name}": value for name, value in {"TOKEN": "bc_1", **environ}.items()}
    return target.choose(desired, named, flag, token_file, HERE)


def test_the_files_name_the_server() -> None:
    chosen = choose(files())
    assert (chosen.server, chosen.overridden, chosen.token) == (URL, False, "bc_1")


def test_a_flag_beats_the_files_and_is_told() -> None:
    chosen = choose(files(), flag="https://other.example.com")
    assert (chosen.server, chosen.overridden) == ("https://other.example.com", True)
    assert choose(files(EMBEDDED), flag=URL).overridden


def test_a_flag_where_the_files_name_none_overrides_nothing() -> None:
    chosen = choose(files(None), flag=URL)
    assert (chosen.server, chosen.overridden) == (URL, False)


@pytest.mark.parametrize("flag", [URL, f"{URL}/"])
def test_a_flag_that_says_what_the_files_say_overrides_nothing(flag: str) -> None:
    assert not choose(files(), flag=flag).overridden
    assert choose(files(), flag=f"{URL}/x").overridden


def test_a_server_without_a_token_is_not_asked() -> None:
    with pytest.raises(ComputeError) as caught:
        choose(files(), TOKEN="").check_token()
    (problem,) = caught.value.problems
    assert problem.message == f"there is no token for {URL}"
    assert problem.hint == (
        "set FLEETCTL_TOKEN, or give --token-file FILE; whoever runs the control plane makes one: "
        "`better-compute token IDENTITY --database URL`"
    )
    choose(files()).check_token()
    choose(files(EMBEDDED), TOKEN="").check_token()


def test_only_a_servers_pin_ignores_a_slash_at_its_end() -> None:
    with pytest.raises(Stop):
        choose(files(), TENANT="root/")


def test_a_blank_flag_is_no_flag_left_out() -> None:
    assert choose(files(), flag="").server == "", "whoever connects refuses it; the files' server was not asked for"


def test_the_environment_stands_in_where_the_files_name_none() -> None:
    assert choose(files(None), SERVER=URL).server == URL


def test_a_flag_beats_the_environment() -> None:
    assert choose(files(None), flag=URL, SERVER="https://other.example.com").server == URL
    assert choose(files(), flag="https://other.example.com", SERVER="https://third.example.com").server == (
        "https://other.example.com"
    )


@pytest.mark.parametrize("value", [URL, f"{URL}/", ""])
def test_an_environment_that_agrees_or_is_empty_is_well(value: str) -> None:
    assert choose(files(), SERVER=value, TENANT="root", CALLER="sa_fleet").server == URL
    assert choose(files(), SERVER=value, TENANT="", CALLER="").server == URL


@pytest.mark.parametrize(
    ("desired", "environ", "said"),
    [
        (files(), {"SERVER": "https://other.example.com"}, "FLEETCTL_SERVER is https://other.example.com"),
        (files(), {"SERVER": f"{URL}/x"}, "and the files say https://compute.example.com"),
        (files(EMBEDDED), {"SERVER": URL}, "and the files say embedded:.fleet/plane.db"),
        (files(), {"TENANT": "acme"}, "FLEETCTL_TENANT is acme, and the files say root"),
        (files(), {"CALLER": "sa_other"}, "FLEETCTL_CALLER is sa_other, and the files say sa_fleet"),
        (files(), {"TENANT": "Root"}, "FLEETCTL_TENANT is Root"),
    ],
)
def test_an_environment_that_disagrees_is_exit_4(desired: Desired, environ: dict[str, Any], said: str) -> None:
    with pytest.raises(Stop) as stopped:
        choose(desired, **environ)
    assert stopped.value.exit_code == EXIT_STALE
    assert any(said in detail for detail in stopped.value.details)
    assert "nothing was read" in stopped.value.message


def test_a_disagreement_does_not_print_the_user_part_of_a_url() -> None:
    with pytest.raises(Stop) as stopped:
        choose(files(), SERVER="https://me:pw-example@other.example.com")
    assert "other.example.com" in stopped.value.details[0]
    assert "pw-example" not in stopped.value.details[0]


def test_who_names_another_server_in_the_environment_is_told_the_flag() -> None:
    with pytest.raises(Stop) as caught:
        choose(files(), SERVER="https://other.example.com")
    assert (caught.value.hint, caught.value.rule) == ("--server URL overrides the files for once", "target.pins")
    with pytest.raises(Stop) as caught:
        choose(files(), TENANT="acme")
    assert caught.value.hint == ""


def test_a_url_with_a_path_that_leads_nowhere_is_no_control_plane() -> None:
    error = ComputeError(Problem(NOT_FOUND, NO_PATH, "there is no such path"))
    assert choose(files()).told(error) is error, "an older control plane has not all of them"
    told = choose(files("https://compute.example.com/api")).told(error).problems[0]
    assert told.message == "https://compute.example.com/api is no control plane: it has no such path"
    assert told.hint == 'FLEETCTL_SERVER names it; did you mean "https://compute.example.com"?'


def test_every_disagreement_is_told_at_once() -> None:
    with pytest.raises(Stop) as stopped:
        choose(files(), SERVER="https://other.example.com", TENANT="acme", CALLER="sa_other")
    assert len(stopped.value.details) == 3


def test_what_is_not_asked_of_the_environment_may_disagree() -> None:
    environ = {"FLEETCTL_SERVER": "https://other.example.com", "FLEETCTL_CALLER": "sa_other"}
    target.check_pins(files(), environ, HERE, {"FLEETCTL_TENANT"})
    with pytest.raises(Stop, match="does not match") as stopped:
        target.check_pins(files(), environ, HERE, {"FLEETCTL_TENANT", "FLEETCTL_CALLER"})
    assert stopped.value.details == ("FLEETCTL_CALLER is sa_other, and the files say sa_fleet",)


def test_a_flag_overrides_the_server_alone() -> None:
    with pytest.raises(Stop):
        choose(files(), flag=URL, TENANT="acme")


def test_no_server_at_all_is_an_error_with_a_hint() -> None:
    with pytest.raises(ComputeError) as caught:
        choose(files(None))
    [problem] = caught.value.problems
    assert (problem.rule, problem.code) == ("fleet.server", "INVALID_INPUT")
    assert "write `server:` in fleet.yaml" in problem.hint


def test_a_caller_that_the_files_leave_open_may_be_any() -> None:
    assert choose(files(caller=None), CALLER="sa_any").server == URL


# Tokens.


def test_a_token_comes_from_the_environment() -> None:
    assert choose(files(), TOKEN="bc_2").token == "bc_2"


def test_a_token_file_beats_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("bc_file\n")
    assert choose(files(), token_file=file, TOKEN="bc_one").token == "bc_file"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_token_file_that_cannot_be_read_is_an_error_without_its_content(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ComputeError) as caught:
        choose(files(), token_file=file)
    (problem,) = caught.value.problems
    assert problem.rule == "token.file"
    assert problem.message.startswith("the file that --token-file names cannot be read: ")
    assert str(file) not in problem.message + problem.hint


@pytest.mark.skipif(os.name != "posix", reason="files have no mode")
@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, False), (0o644, True), (0o604, True)])
def test_a_token_file_that_everybody_may_read_is_told(tmp_path: Path, mode: int, told: bool) -> None:
    file = tmp_path / "token"
    file.write_text("bc_one")
    file.chmod(mode)
    assert ("chmod 600 keeps it to you" in target.exposed(file)) == told
    assert (target.exposed(None), target.exposed(tmp_path / "nowhere"), target.exposed(tmp_path)) == ("", "", "")


def test_a_directory_is_no_token_file(tmp_path: Path) -> None:
    with pytest.raises(ComputeError):
        choose(files(), token_file=tmp_path)


# What errors are about.

PLACES = {"server": Place(read_text(b"x-a: 1\nserver: https://compute.example.com\n", "fleet.yaml")[0], ("server",))}


@pytest.mark.parametrize(
    ("desired", "flag", "named"),
    [
        (replace(files(), places=PLACES), None, "fleet.yaml:2:9"),
        (replace(files(), places=PLACES), URL, "--server"),
        (files(None), None, "FLEETCTL_SERVER"),
    ],
)
def test_a_server_that_is_not_reached_is_told_with_what_names_it(
    desired: Desired, flag: str | None, named: str
) -> None:
    error = ComputeError(Problem(UNAVAILABLE, NOT_REACHED, "cannot connect", hint="is it running?"), retry_after_ms=5)
    told = choose(desired, flag, SERVER=URL).told(error)
    assert told.problems[0].hint == f"is it running? {named} names it"
    assert told.retry_after_ms == 5


def test_a_token_that_is_refused_is_told_with_where_it_is_from(tmp_path: Path) -> None:
    error = ComputeError(Problem(UNAUTHENTICATED, "", "the token is unknown, revoked or expired"))
    file = tmp_path / "token"
    file.write_text("bc_2")
    for chosen, name in ((choose(files()), "FLEETCTL_TOKEN"), (choose(files(), token_file=file), str(file))):
        assert chosen.told(error).problems[0].hint == f"{URL} was asked with the token of {name}"


@pytest.mark.parametrize(
    "problem",
    [
        Problem(UNAUTHENTICATED, "world.identity", "no such identity"),
        Problem(UNAVAILABLE, "client.redirect", "redirects", hint="name the server itself"),
        Problem(UNAUTHENTICATED, "", "the token is for another server", hint="ask the other one"),
    ],
)
def test_an_error_about_something_else_is_told_as_it_is(problem: Problem) -> None:
    assert choose(files()).told(error := ComputeError(problem)) is error


def test_an_embedded_control_plane_has_neither_url_nor_token() -> None:
    error = ComputeError(Problem(UNAUTHENTICATED, "", "no identity that is known here"))
    assert choose(files(EMBEDDED)).told(error) is error


# As people see it.


@pytest.mark.parametrize(
    ("server", "text"),
    [
        (URL, URL),
        (EMBEDDED, "embedded:.fleet/plane.db"),
        (Embedded("/elsewhere/plane.db", None), "embedded:/elsewhere/plane.db"),
    ],
)
def test_a_server_is_shown_as_people_know_it(server: str | Embedded, text: str) -> None:
    assert target.shown(server, HERE) == text


@pytest.mark.parametrize(
    ("server", "database", "start"),
    [
        (EMBEDDED, ".fleet/plane.db", "world.yaml"),
        (Embedded("/elsewhere/plane.db", None), "/elsewhere/plane.db", "the tenant root alone"),
    ],
)
def test_a_control_plane_that_is_made_is_told_with_what_it_starts_with(
    server: Embedded, database: str, start: str
) -> None:
    said = f"There is no {database} yet: a new control plane is made there, and starts with {start}"
    assert target.made(server, HERE) == said
