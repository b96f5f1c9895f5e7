"""A server that repeats the token it is asked with, wherever it can: no output shows it, and no file keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, fleetctl, served
from tests.e2e.proxy import Exchange, Proxy

RUNS = {
    "whoami": ("text", "json"),
    "plan": ("text", "json", "markdown", "html", "github", "junit", "sarif"),
    "drift": ("text", "json", "prometheus"),
    "apply": ("text", "json"),
}
FIELDS = ("derivation", "instanceId", "version", "capabilities", "digestKey", "time")


@dataclass
class Place:
    home: Home
    proxy: Proxy
    token: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = Home(tmp_path_factory.mktemp("indiscreet"))
    home.wish(entry("a", {"acme": 8}, policy={"note": "x"}), fleet="demo")
    home.apply()
    home.wish(entry("a", {"acme": 9}, policy={"note": "y"}), entry("b", []), fleet="demo")
    with served(home) as (_, proxy):
        yield Place(home, proxy, home.environ["FLEETCTL_TOKEN"])


def everywhere(value: Any, token: str) -> Any:
    """The same with the token at the end of every text and name."""
    if isinstance(value, dict):
        return {f"{name}{token}" if name[:1].isupper() else name: everywhere(v, token) for name, v in value.items()}
    if isinstance(value, list):
        return [everywhere(item, token) for item in value]
    return f"{value}{token}" if isinstance(value, str) else value


def answers(change: Callable[[str, Any], Any], status: int = 200) -> Callable[[Exchange], None]:
    def rule(exchange: Exchange) -> None:
        _, _, body = exchange.forward()
        exchange.answer(status, change(exchange.operation, json.loads(body)))

    return rule


def field(name: str, token: str) -> Callable[[str, Any], Any]:
    def change(operation: str, body: Any) -> Any:
        if operation == "system/info":
            body["data"][name] = [token] if name == "capabilities" else token
        return body

    return change


def error(token: str) -> dict[str, Any]:
    text = f"Bearer {token} https://u:HUNTER2@h"
    said = {"message": "x" * 1990 + text, "rule": text, "field": text, "requestId": text, "hint": text}
    return {"error": {"code": "INVALID_STATE", **said}}


def check(place: Place, *arguments: str, formats: tuple[str, ...] = ("text",)) -> None:
    """Nothing of a command shows the token."""
    for form in formats:
        ran = place.home.run(*arguments, "--format", form, FLEETCTL_DEBUG="1")
        assert ran.code in (1, 3), ran.said
        for secret in (place.token, place.token[3:], "HUNTER"):
            assert secret not in ran.out + ran.err, ran.said


@pytest.mark.parametrize("command", RUNS)
def test_that_repeats_it_in_every_text_is_not_read(place: Place, command: str) -> None:
    place.proxy.reset(answers(lambda _, body: everywhere(body, place.token)))
    check(place, command, *(["--yes"] if command == "apply" else []), formats=RUNS[command])


@pytest.mark.parametrize("name", FIELDS)
def test_that_repeats_it_in_what_it_says_of_itself_is_not_read(place: Place, name: str) -> None:
    place.proxy.reset(answers(field(name, place.token)))
    check(place, "plan", formats=("text", "json"))


@pytest.mark.parametrize("operation", ["pools/list", "sites/list", "identities/whoami", "events/list"])
def test_that_repeats_it_in_one_answer_alone_is_not_read(place: Place, operation: str) -> None:
    place.proxy.reset(answers(lambda asked, body: everywhere(body, place.token) if asked == operation else body))
    check(place, "drift" if operation == "events/list" else "plan", formats=("text", "json"))


@pytest.mark.parametrize("status", [400, 409, 500])
@pytest.mark.parametrize("command", RUNS)
def test_that_repeats_it_in_an_error_is_told_without_it(place: Place, command: str, status: int) -> None:
    place.proxy.reset(answers(lambda _, __: error(place.token), status))
    check(place, command, *(["--yes"] if command == "apply" else []), formats=RUNS[command])


def test_whose_write_fails_with_it_is_reported_without_it(place: Place, tmp_path: Path) -> None:
    def rule(exchange: Exchange) -> None:
        if exchange.write is None:
            exchange.pass_on()
        else:
            exchange.answer(409, error(place.token))

    place.proxy.reset(rule)
    kept, journal = tmp_path / "report.json", tmp_path / "journal"
    ran = place.home.run("apply", "--yes", "--report", kept, "--journal", journal)
    assert ran.code == 1, ran.said
    for said in (ran.said, kept.read_text(), journal.read_text()):
        assert place.token not in said
        assert "HUNTER" not in said
        assert "(token)" in said or said != ran.said


@pytest.mark.parametrize("command", ["export", "snapshot"])
def test_is_kept_in_no_file(place: Place, command: str, tmp_path: Path) -> None:
    place.proxy.reset(answers(lambda _, body: everywhere(body, place.token)))
    out = tmp_path / "out"
    ran = fleetctl(command, place.home.directory, *place.home.target, "--out", out, **place.home.environ)
    assert (ran.code, place.token in ran.out + ran.err, out.exists()) == (1, False, False), ran.said


def test_explain_does_not_say_it(place: Place) -> None:
    place.proxy.reset(answers(lambda _, body: everywhere(body, place.token)))
    ran = fleetctl("explain", "a", "--fleet", place.home.directory, *place.home.target, **place.home.environ)
    assert place.token not in ran.out + ran.err, ran.said
