"""An apply is taken back by its report: what has an inverse, nothing that somebody moved, in the way of any apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from better_compute.domain.commands import ArchivePool, Command, OfferPool, SetQuota, UpdatePool
from better_compute.domain.problems import ComputeError
from fleetctl.desired.load import load
from fleetctl.errors import Stop
from fleetctl.flow.running import How
from fleetctl.flow.undo import undo
from fleetctl.live import read
from fleetctl.override import Override
from fleetctl.report.apply_file import applied_report
from fleetctl.request import Request
from fleetctl.spelling import canonical_text, checksum, seal
from fleetctl.undo import Applied, finding
from tests.altered import leaves, with_value
from tests.e2e.homes import Home, entry, fleetctl, phrase, pool_id, served, unchanged
from tests.e2e.partly import copied
from tests.e2e.proxy import Exchange, Proxy
from tests.e2e.test_at_work import book, states
from tests.e2e.test_laws import ALLOWED, SLOW, by_hand, changes, settle
from tests.fleets import OWNER, Fleet

Json = Any
BEFORE = [
    entry("a", {"acme": 8, "globex": 8}, policy={"maxPending": "6h"}, ownerQuota={"gpu": 64}),
    entry("b", {"acme": 4}),
    entry("old", []),
]
AFTER = [
    entry("a", {"acme": 16, "initech": 2}, policy={"maxPending": "1h"}, ownerQuota={"gpu": 32}),
    entry("b", {"acme": 4}),
    entry("new", {"globex": 1}),
    {"idempotencyKey": "old", "archived": True},
]
"""One operation of every kind leads from the one to the other, and two new offers."""
WAY_BACK = [
    "archive new",
    "offer a to acme",
    "offer a to globex",
    "setQuota a",
    "update a",
    "withdraw a to initech",
]


def live(home: Home) -> Json:
    """What each live pool promises to whom; a row of 0 and no row are one."""
    with home.hand() as client:
        pools, _ = client.pools.all(owned=True)
        states = {state.pool.id: state for state in pools if state.pool and not state.pool.archived}
    return {
        i: (
            state.pool and (state.pool.gpu_model, state.pool.policy),
            {t: {r: n for r, n in state.limits(t).items() if n} for t in (OWNER, *state.offers)},
            {t: (offer.priority, offer.include_descendants) for t, offer in state.offers.items()},
        )
        for i, state in states.items()
    }


def changing(directory: Path) -> Home:
    """A fleet that was applied, and is wished otherwise now."""
    made = Home(directory)
    made.wish(*BEFORE)
    made.apply()
    made.wish(*AFTER)
    return made


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return changing(tmp_path_factory.mktemp("undo"))


@pytest.fixture
def home(prepared: Home, tmp_path: Path) -> Home:
    return copied(prepared, tmp_path)


def applied(home: Home, name: str = "report.json", *flags: str) -> Path:
    """The report of an apply of all that is wished."""
    file = home.directory.parent / name
    home.apply("--report", file, *ALLOWED, *flags)
    return file


def undone(home: Home, file: Path, *flags: str | Path, code: int = 0) -> Json:
    """The report of its way back."""
    return home.apply("--undo", file, *ALLOWED, *flags, code=code).report


def hand(home: Home, *given: Command) -> None:
    by_hand(home, list(given))


def pool(key: str) -> dict[str, Any]:
    return {"tenant_id": OWNER, "pool_id": pool_id(key)}


def refused(home: Home, file: Path, *flags: str | Path, code: int = 4) -> str:
    """What an undo says that ends with this code, and has written nothing."""
    with unchanged(home):
        ran = home.run("apply", "--undo", file, "--yes", *ALLOWED, *flags)
    assert ran.code == code, ran.said
    return ran.said


# The way back, and the way forth again.


def there_and_back(home: Home) -> None:
    before = live(home)
    file = applied(home)
    after = live(home)
    back = home.directory.parent / "back.json"
    report = undone(home, file, "--report", back)
    assert sorted(map(phrase, report["done"])) == WAY_BACK
    assert [(phrase(one), one["code"], one["why"]) for one in report["undo"]["left"]] == [
        ("archive old", "noInverse", "an archived pool is not revived, and its key is spent")
    ]
    assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}
    with unchanged(home):
        again = undone(home, file)
    assert (again["summary"]["operations"], again["undo"]["already"]) == (0, len(WAY_BACK) + 1)

    forth = undone(home, back)
    assert [phrase(one) for one in forth["undo"]["left"]] == ["archive new"]
    assert live(home) == {i: terms for i, terms in after.items() if i != pool_id("new")}


def test_every_kind_of_operation_is_taken_back_and_the_undo_too(home: Home) -> None:
    there_and_back(home)


def test_the_same_over_the_network(home: Home) -> None:
    with served(home):
        there_and_back(home)


def plain(home: Home, fleet: Fleet) -> Home:
    """The same fleet at the same control plane, in one file."""
    home.directory = home.database.parent / "plain"
    home.directory.mkdir()
    pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
    home.wish(*pools, **{name: value for name, value in fleet.root.items() if name != "server"})
    return home


def law(change: tuple[Fleet, list[Command], Fleet], random: Random) -> bool:
    """Whether there was something to hold: the rules may refuse what is wished."""
    first, given, last = change
    with TemporaryDirectory() as name:
        home, file = Home(Path(name)), Path(name) / "report.json"
        if not settle(home, first, random):
            return False
        by_hand(home, given)
        before = live(home)
        if not settle(home, last, random, "--report", file):
            return False
        done = json.loads(file.read_text())["done"]
        # A document that says nothing, as some spellings have it, may have lost a guard: nothing is taken by it.
        home = plain(home, last)
        report = undone(home, file, code=1 if {one["action"] for one in done} == {"archive"} else 0)
        lost = {one["poolId"] for one in done if one["action"] == "archive"}
        assert {one["poolId"] for one in report["undo"]["left"]} == lost
        assert live(home) == {i: terms for i, terms in before.items() if i not in lost}
        return bool(done)


@settings(max_examples=5, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_apply_then_undo_is_what_was_before(change: tuple[Fleet, list[Command], Fleet], random: Random) -> None:
    assume(law(change, random))


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_apply_then_undo_is_what_was_before_over_hundreds_of_changes(
    change: tuple[Fleet, list[Command], Fleet], random: Random
) -> None:
    assume(law(change, random))


@pytest.mark.parametrize("part", ["tenant=globex", "tenant=acme", "key=a", "key=new"])
def test_an_undo_that_ended_halfway_goes_on_with_the_same_command(home: Home, part: str) -> None:
    before = live(home)
    file = applied(home)
    assert undone(home, file, "--only", part)["done"]
    undone(home, file)
    assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}


# What it says, and what is kept of it.


def test_the_events_name_the_apply_that_is_taken_back_and_explain_shows_it(home: Home) -> None:
    file = applied(home)
    digest = json.loads(file.read_text())["digest"]
    report = undone(home, file)
    via = [event.via for event in home.events()][-len(report["done"]) :]
    assert {(each or {}).get("undoes") for each in via} == {digest}
    assert {(each or {}).get("digest") for each in via} == {report["digest"]}
    assert f"undoes apply {digest[:12]}" in fleetctl("explain", "a", "--fleet", home.directory).out


@pytest.mark.parametrize("form", ["text", "markdown", "json", "github", "junit", "sarif"])
def test_what_has_no_way_back_is_told_in_every_format(home: Home, form: str) -> None:
    ran = home.run("apply", "--undo", applied(home), "--yes", *ALLOWED, "--format", form)
    assert ran.code == 0, ran.said
    assert "an archived pool is not revived" in ran.out
    reverted = {
        "text": "else the next plan brings the change back, and is blocked by what is archived now.",
        "markdown": "Revert the files",
    }
    assert reverted.get(form, "") in ran.out


def test_the_plan_says_what_it_takes_back_and_not_that_files_wish_it(home: Home) -> None:
    file = applied(home)
    digest = json.loads(file.read_text())["digest"]
    ran = home.run("apply", "--undo", file, "--yes", "--verbose", *ALLOWED)
    assert f"it takes back what the apply {digest[:12]} did" in ran.out
    assert f"not asked: it takes back the apply {digest[:12]}" in ran.out
    assert "otherwise than the files" not in ran.out
    assert "warning: archive old is not taken back" in ran.out


def test_the_next_plan_brings_the_change_back_until_the_files_are_reverted(home: Home) -> None:
    undone(home, applied(home))
    assert "offer a to initech" in home.plan(*ALLOWED, code=3).operations  # the key of `new` is spent
    home.wish(*BEFORE[:2], {"idempotencyKey": "old", "archived": True})
    assert home.is_settled()


def test_where_nothing_can_be_taken_back_it_is_an_error_and_where_nothing_was_done_it_is_not(home: Home) -> None:
    only = applied(home, "archive.json", "--only", "key=old")
    report = undone(home, only, code=1)
    assert [phrase(one) for one in report["undo"]["left"]] == ["archive old"]
    assert "Nothing is there to be taken back" in refused(home, only, code=1)
    applied(home)
    nothing = applied(home, "nothing.json")
    assert undone(home, nothing)["undo"]["left"] == []


def test_an_old_secret_is_not_kept_and_not_brought_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8}, policy={"registryToken": "hunter2-old"}))
    home.apply()
    home.wish(entry("a", {"acme": 9}, policy={"registryToken": "hunter2-new"}))
    file = applied(home)
    assert "hunter2" not in file.read_text()
    report = undone(home, file)
    assert [phrase(one) for one in report["done"]] == ["offer a to acme"]
    assert [one["why"] for one in report["undo"]["left"]] == ["its old value is sensitive and is not kept"]


# What somebody moved since.


MOVES: dict[str, tuple[Command, str]] = {
    "the pool": (UpdatePool(**pool("a"), policy={"maxPending": "2h"}), "a: pool.updated by sa_hand"),
    "an offer": (OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9}), "a for acme: pool.offered by sa_hand"),
    "an offer that was withdrawn": (
        OfferPool(**pool("a"), to_tenant_id="globex", quota={"gpu": 9}),
        "a for globex: pool.offered by sa_hand",
    ),
    "an offer's rows": (
        SetQuota(**pool("a"), to_tenant_id="initech", quota={"gpu": 9}),
        "a for initech: quota.updated by sa_hand",
    ),
    "the owner's rows": (
        SetQuota(**pool("a"), to_tenant_id=OWNER, quota={"gpu": 9}),
        "a for root: quota.updated by sa_hand",
    ),
    "an offer of a new pool": (
        OfferPool(**pool("new"), to_tenant_id="acme", quota={"gpu": 9}),
        "new for acme: pool.offered by sa_hand",
    ),
    "a pool that is gone": (ArchivePool(**pool("a")), "a: pool.archived by sa_hand"),
}


@pytest.mark.parametrize("moved", MOVES)
def test_an_object_that_somebody_moved_keeps_all_of_it_from_being_taken_back(home: Home, moved: str) -> None:
    command, said = MOVES[moved]
    file = applied(home)
    hand(home, command)
    told = refused(home, file)
    assert "what the apply did was changed since: nothing was written" in told
    assert said in told
    assert "Hint: leave it out by --only or --except" in told


def test_the_rest_is_taken_back_where_what_moved_is_left_out(home: Home) -> None:
    file = applied(home)
    hand(home, MOVES["an offer"][0])
    report = undone(home, file, "--except", "tenant=acme")
    assert sorted(map(phrase, report["done"])) == [one for one in WAY_BACK if one != "offer a to acme"]
    report = undone(home, file, "--only", "key=new")
    assert report["undo"]["already"] == 2  # the pool, and its offer


def test_a_move_that_nobody_sees_is_taken_back_with_the_rest(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: last events are not looked at."""
    monkeypatch.setattr(finding._Looking, "_others", lambda *_: [])
    file = applied(home)
    hand(home, MOVES["an offer"][0])
    with pytest.raises(AssertionError, match="something was written"):
        refused(home, file)


def test_applies_are_taken_back_one_after_the_other_the_last_one_first(home: Home) -> None:
    states, files = [live(home)], []
    for number, gpus in enumerate((16, 17, 18)):
        home.wish(entry("a", {"acme": gpus, "initech": 2}, policy={"maxPending": "1h"}), *AFTER[1:])
        files.append(applied(home, f"report-{number}.json"))
        states.append(live(home))
    assert "a for acme: pool.offered by sa_fleet" in refused(home, files[0])
    assert "a for acme: pool.offered by sa_fleet" in refused(home, files[1])
    for file, state in zip(reversed(files), reversed(states[:-1]), strict=True):
        undone(home, file)
        assert live(home) == {i: terms for i, terms in state.items() if i != pool_id("old")}
    assert "a for acme: pool.offered by sa_fleet" not in refused(home, files[0], code=0)


def test_what_was_taken_back_and_done_again_is_another_applys(tmp_path: Path) -> None:
    """A first offer is the same change against the same state each time: its digest returns."""
    home = Home(tmp_path)
    home.wish(entry("a", []))
    home.apply()
    home.wish(entry("a", {"acme": 8}))
    first = applied(home, "first.json")
    undone(home, first)
    second = applied(home, "second.json")
    assert json.loads(first.read_text())["digest"] == json.loads(second.read_text())["digest"]
    assert "a for acme: pool.offered by sa_fleet" in refused(home, first)


def test_what_moves_while_it_is_asked_about_ends_it_and_what_else_moves_does_not(home: Home) -> None:
    file, before = applied(home), {}
    beside = OfferPool(**pool("b"), to_tenant_id="acme", quota={"gpu": 5})

    def answer(*commands: Command) -> Callable[[Any], bool]:
        def approve(_: Any) -> bool:
            hand(home, *commands)
            before.update({"dump": home.dump()})
            return True

        return approve

    with pytest.raises(Stop) as stop:
        asked(home, file, answer(MOVES["an offer"][0]))
    assert (stop.value.exit_code, home.dump()) == (4, before["dump"])
    hand(home, OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 16}))
    finished = asked(home, file, answer(beside), exclude=("tenant=acme",))
    assert finished.exit_code == 0
    assert live(home)[pool_id("b")][1]["acme"] == {"gpu": 5}


def asked(home: Home, file: Path, approve: Callable[[Any], bool], exclude: tuple[str, ...] = ()) -> Any:
    """An undo that asks; the question is answered by `approve`."""
    request = Request(
        path=home.directory,
        server=None,
        environ={},
        token_file=None,
        timeout=30,
        override=Override({"archives": 9, "withdrawals": 9}, "any"),
        tell=lambda _: None,
    )
    request = replace(request, frame=replace(request.frame, exclude=exclude))
    how = How(
        plan_file=None,
        expect=None,
        approve=approve,
        asks=True,
        progress=lambda _: None,
        parallelism=4,
        journal=None,
        report_file=None,
    )
    return undo(request, how, file)


# What the report does not know for sure.


def with_fields(home: Home, file: Path, **fields: Any) -> Path:
    """The report with other fields, sealed as a run would have written it."""
    report = {**json.loads(file.read_text()), **fields}
    with home.hand("sa_fleet") as client:
        return written(file, report, bytes.fromhex(str(client.system.info().digest_key)))


def written(file: Path, report: Json, key: bytes) -> Path:
    report["seal"] = seal(report, key)
    report["checksum"] = checksum(report)
    made = file.with_name("made.json")
    made.write_text(canonical_text(report))
    return made


def test_a_failed_operation_that_was_done_all_the_same_is_taken_back_and_one_that_was_not_is_told(home: Home) -> None:
    file = applied(home, "report.json", "--except", "tenant=initech")
    report = json.loads(file.read_text())
    lost = [{**one, "status": "failed"} for one in report["done"]]
    never = {
        **lost[0],
        "action": "offer",
        "poolId": pool_id("b"),
        "key": "b",
        "toTenantId": "umbrella",
        "digest": "0" * 64,
    }
    never["inverse"] = {"action": "unoffer", "after": None, "why": ""}
    made = with_fields(home, file, done=[], failed=[*lost, never], interrupted="SIGINT")
    back = undone(home, made)
    assert sorted(map(phrase, back["done"])) == [one for one in WAY_BACK if "initech" not in one]
    assert {phrase(one): one["code"] for one in back["undo"]["left"]}["offer b to umbrella"] == "failed"


def test_what_was_as_wished_already_is_nobodys_to_take_back(home: Home) -> None:
    file = applied(home)
    report = json.loads(file.read_text())
    noted = [{**one, "digest": "0" * 64, "found": True} for one in report["done"] if one["action"] == "update"]
    back = undone(home, with_fields(home, file, done=noted, digest="1" * 64))
    assert [(phrase(one), one["code"], one["why"]) for one in back["undo"]["left"]] == [
        ("update a", "found", "it was so already, and not by this apply")
    ]


def test_what_no_event_tells_of_is_not_taken_back(home: Home) -> None:
    file = applied(home)
    report = json.loads(file.read_text())
    done = [{**one, "digest": "0" * 64} for one in report["done"] if one["action"] == "update"]
    assert "a: pool.updated by sa_fleet" in refused(home, with_fields(home, file, done=done))


# The report must be the one that was written, and be of this place.


def altered_one_by_one(file: Path) -> Iterator[bytes]:
    """The report with one field changed, also where its checksum is made anew, or its seal under a wrong key."""
    report = json.loads(file.read_text())
    for number, (path, value) in enumerate(leaves(report)):
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
        changed = with_value(report, path, other)
        if number % 3 and path != ("checksum",):
            changed["seal"] = seal(changed, b"k" * 32) if number % 3 == 2 and path != ("seal",) else changed["seal"]
            changed["checksum"] = checksum(changed)
        yield canonical_text(changed).encode()
    data = file.read_bytes()
    for at in range(0, len(data), 97):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield data[:-1]
    yield data[: len(data) // 2]


def accepted(home: Home, file: Path) -> Iterator[bytes]:
    """Altered reports that are taken for one that was written here."""
    with home.hand("sa_fleet") as client:
        files, state = load(home.directory), read(client, "", OWNER)
        for data in altered_one_by_one(file):
            made = file.with_name("altered.json")
            made.write_bytes(data)
            with suppress(Stop, ComputeError):
                applied_report(made).check(files, state)
                yield data


def test_a_report_that_was_altered_anywhere_is_refused(home: Home) -> None:
    file = applied(home)
    assert list(accepted(home, file)) == []
    made = file.with_name("altered.json")
    for data in (file.read_bytes().replace(b"acme", b"evil"), file.read_bytes() + b" ", b"{", b"no report"):
        made.write_bytes(data)
        assert "the report was altered" in refused(home, made)


def test_an_altered_report_that_is_accepted_is_seen(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks at the seal."""
    file = applied(home)
    monkeypatch.setattr(Applied, "check", lambda *_: None)
    assert next(accepted(home, file))


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({"tenantId": "acme", "caller": "sa_acme"}, "tenant: applied to root, this is acme"),
        ({"caller": "sa_other"}, "caller: applied to sa_fleet, this is sa_other"),
        ({"fleet": "another"}, "fleet: applied to default, this is another"),
    ],
)
def test_a_report_is_of_one_tenant_caller_and_fleet(home: Home, root: dict[str, str], said: str) -> None:
    file = applied(home)
    home.wish(entry("a", []), **root)
    told = refused(home, file)
    assert said in told
    assert "Hint: use it with the files and at the control plane that it is of" in told


def test_a_report_is_of_one_control_plane(home: Home) -> None:
    file = applied(home)
    home.sql("UPDATE meta SET value = 'elsewhere' WHERE value = 'home'")
    assert "server instance: applied to home, this is elsewhere" in refused(home, file)


def test_a_database_that_was_made_anew_under_the_same_name_is_another(home: Home) -> None:
    file = applied(home)
    home.sql("UPDATE tenants SET digest_key = ? WHERE id = 'root'", b"k" * 32)
    assert "or the control plane's database was made anew" in refused(home, file)


def test_another_kind_of_report_is_none_of_an_apply(home: Home) -> None:
    plan = home.directory.parent / "plan.json"
    home.plan("--out", plan, *ALLOWED)
    assert "is a plan, and the report of an apply is meant" in refused(home, plan, code=1)
    assert "cannot be read" in refused(home, plan.with_name("none.json"), code=1)


def test_what_was_printed_as_json_is_taken_back_as_well(home: Home) -> None:
    file = home.directory.parent / "printed.json"
    file.write_text(home.apply(*ALLOWED).out)
    assert sorted(map(phrase, undone(home, file)["done"])) == WAY_BACK


# By the way of any apply.


def test_guards_hold_for_an_undo_as_for_any_change(home: Home) -> None:
    file = applied(home)
    home.wish(*AFTER, guards={"maxArchives": 0})
    with unchanged(home):
        ran = home.run("apply", "--undo", file, "--yes")
    assert ran.code == 3, ran.said
    assert "1 archive, and one apply may do 0" in ran.said
    assert "Revert the files too" in ran.out
    home.wish(*(AFTER[:2]), {**AFTER[2], "protect": True}, AFTER[3])
    assert "would take from what is protected: archive new" in refused(home, file, code=3)


def test_an_expected_digest_approves_it_and_another_does_not(home: Home) -> None:
    file = applied(home)
    ran = home.run("apply", "--undo", file, "--expect", "0" * 64, *ALLOWED)
    assert ran.code == 4
    (digest,) = [word for word in ran.err.replace(",", " ").split() if len(word) == 64 and word != "0" * 64]
    report = home.apply("--undo", file, "--expect", digest, *ALLOWED).report
    assert (report["approvedBy"], report["digest"]) == ("digest", digest)


def test_without_a_terminal_it_must_be_approved_by_a_flag(home: Home) -> None:
    with unchanged(home):
        assert home.run("apply", "--undo", home.directory / "report.json").code == 64


@pytest.mark.parametrize("flags", [["--plan", "p.json"], ["--base", "HEAD"], ["--base-dir", "."], ["--prune"]])
def test_what_says_otherwise_than_a_report_is_a_usage_error(home: Home, flags: list[str]) -> None:
    ran = home.run("apply", "--undo", "report.json", "--yes", *flags)
    assert ran.code == 64
    assert f"goes without {flags[0]}" in ran.err


@pytest.mark.parametrize("flag", ["--report", "--journal"])
def test_the_report_is_not_written_over(home: Home, flag: str) -> None:
    file = applied(home)
    kept = file.read_bytes()
    ran = home.run("apply", "--undo", file, "--yes", flag, file)
    assert (ran.code, file.read_bytes()) == (64, kept)
    assert "name the same file" in ran.err


def test_pools_that_left_the_files_are_taken_back_at_the_places_they_had(home: Home) -> None:
    file = applied(home)
    home.wish(BEFORE[1])
    report = undone(home, file)
    assert sorted(map(phrase, report["done"])) == WAY_BACK
    lines = {phrase(one): one["source"]["line"] for one in report["done"]}
    assert lines["archive new"] > 1


def test_a_pool_that_the_files_let_go_is_left(home: Home) -> None:
    file = applied(home)
    home.wish({"idempotencyKey": "a", "released": True}, *AFTER[1:])
    report = undone(home, file)
    assert [phrase(one) for one in report["done"]] == ["archive new"]
    assert {one["code"] for one in report["undo"]["left"]} == {"released", "noInverse"}


# What the report alone does not tell.


def planned_file(home: Home) -> Path:
    return home.directory.parent / "plan.json"


def planned(home: Home) -> Path:
    """The file of a plan of all that is wished."""
    file = planned_file(home)
    home.plan("--out", file, *ALLOWED)
    return file


def refusing(after: int) -> Callable[[Exchange], None]:
    """A server that takes so many writes, and no more."""

    def rule(exchange: Exchange) -> None:
        if exchange.write is None or exchange.write <= after:
            exchange.pass_on()
        else:
            exchange.refuse(403, "ACCESS_DENIED")

    return rule


def in_two_runs(home: Home, proxy: Proxy) -> tuple[Path, Path]:
    """The reports of an apply by a plan file that ended early, and of the same command again."""
    file, first, second = planned(home), *(home.directory.parent / f"run-{n}.json" for n in (1, 2))
    proxy.reset(refusing(3))
    home.apply("--plan", file, *ALLOWED, "--report", first, "--parallelism", "1", code=5)
    proxy.reset()
    home.apply("--plan", file, *ALLOWED, "--report", second)
    return first, second


def test_what_another_run_of_the_same_apply_did_is_told_and_is_no_success(home: Home) -> None:
    with served(home) as (_, proxy):
        first, _ = in_two_runs(home, proxy)
        back = undone(home, first, code=5)
        others = {phrase(one) for one in back["undo"]["left"] if one["code"] == "otherRun"}
        told = json.loads(first.read_text())
        assert others == {phrase(one) for one in (*told["blocked"], *told["notStarted"])} != set()
        said = refused(home, first, code=1)
    assert "Nothing is there to be taken back" in said
    assert "another run of the same apply did it, and this report does not tell of it" in said


def test_the_run_after_one_that_ended_early_tells_of_both_and_one_report_takes_back_all(home: Home) -> None:
    before = live(home)
    with served(home) as (_, proxy):
        first, second = in_two_runs(home, proxy)
        told, report = json.loads(first.read_text()), json.loads(second.read_text())
        assert report["before"] == [{**one, "attempts": 0} for one in told["done"]]
        assert report["sequence"] == json.loads(planned_file(home).read_text())["sequence"]
        assert report["summary"]["operations"] == len(report["done"]) == 5
        assert sorted(map(phrase, undone(home, second)["done"])) == WAY_BACK
        assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}


def test_a_run_after_one_that_was_killed_tells_of_both_and_so_does_one_that_has_nothing_to_do(home: Home) -> None:
    before, file = live(home), planned(home)
    home.apply("--plan", file, *ALLOWED)  # as if it was killed before it wrote its report
    report = home.directory.parent / "again.json"
    ran = home.run("apply", "--plan", file, *ALLOWED, "--report", report)
    assert ran.code == 0, ran.said
    assert "8 operations of this plan were done before." in ran.out
    assert sorted(map(phrase, undone(home, report)["done"])) == WAY_BACK
    assert live(home) == {i: terms for i, terms in before.items() if i != pool_id("old")}


def test_what_somebody_else_says_to_be_of_the_same_apply_is_none_of_it(home: Home) -> None:
    file = applied(home)
    digest = json.loads(file.read_text())["digest"]
    with home.hand() as client:
        client.under({"digest": digest, "operation": "f" * 64}).pools.offer(
            OfferPool(**pool("b"), to_tenant_id="globex", quota={"gpu": 1})
        )
    assert {one["code"] for one in undone(home, file)["undo"]["left"]} == {"noInverse"}


def replaced(home: Home) -> Path:
    """The report of an apply in which `next` takes the place of `b`, and `a` changes."""
    home.wish(entry("a", {"acme": 9}), entry("next", {"acme": 4}, replaces="b"), BEFORE[2])
    return applied(home)


def test_what_took_the_place_of_an_archived_pool_is_not_taken_back(home: Home) -> None:
    back = undone(home, replaced(home))
    assert {phrase(one): one["code"] for one in back["undo"]["left"]} == {
        "create next": "heir",
        "offer next to acme": "heir",
        "archive b": "noInverse",
    }
    assert "offer a to acme" in {phrase(one) for one in back["done"]}
    assert live(home)[pool_id("next")][1]["acme"] == {"gpu": 4}
    said = home.run("apply", "--undo", home.directory.parent / "report.json", "--yes").said
    assert "it took the place of b, and that one is archived for good" in said


@pytest.mark.parametrize("guards", [{}, {"allowArchiveInUse": True}])
def test_a_pool_that_somebody_waits_in_is_archived_by_an_undo_where_a_flag_says_so_alone(
    home: Home, guards: dict[str, bool]
) -> None:
    home.wish(*AFTER, guards=guards)
    file = applied(home)
    book(home, "globex", 1, pool=pool_id("new"))
    assert states(home, "globex", pool_id("new")) == {"pending": 1}
    flags = ("--undo", file, "--only", "key=new", "--yes", "--allow", "archives=1", "--reason", "any")
    with unchanged(home):
        ran = home.run("apply", *flags)
    assert ran.code == 3, ran.said
    assert "1 pool would be archived in use: new (1 reservation), and none may where an apply is taken back" in ran.said
    assert home.apply(*flags, "--allow", "archiveInUse=1").report["done"]


def test_an_undo_that_lost_to_somebody_says_how_to_go_on(home: Home) -> None:
    file = applied(home)
    moving = OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9})

    def rule(exchange: Exchange) -> None:
        if exchange.write == 1:
            hand(home, moving)
        exchange.pass_on()

    with served(home) as (_, proxy):
        proxy.reset(rule)
        ran = home.run("apply", "--undo", file, "--yes", *ALLOWED, "--parallelism", "1")
        assert ran.code == 5, ran.said
        assert "leave it out by --only or --except, or look at what was changed" in ran.out
        assert "Run the same command again" not in ran.out
