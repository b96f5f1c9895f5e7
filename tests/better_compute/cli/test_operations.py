"""Every operation is a command; its flags are the operation's own input."""

import json
import re
import time
from datetime import datetime
from pathlib import Path

import pytest

from better_compute.api.routes import ROUTES
from better_compute.cli import GROUPS
from better_compute.cli.output import _table, show
from better_compute.domain.ids import derive
from tests.better_compute.cli.conftest import Run

CREATE = ("--site-id", "site_fra1", "--class", "metal-host", "--gpu-model", "H100")


def test_every_operation_is_in_a_group() -> None:
    assert {operation.partition("/")[0] for operation in ROUTES} == set(GROUPS)


def test_a_pool_is_made_with_flags(fleet: Run) -> None:
    more = ("--policy", '{"maxPending": "6h"}', "--owner-quota", "gpu=3", "--owner-quota", "vcpu=4")
    done = fleet("pools", "create", *CREATE, *more, "--idempotency-key", "k", "--format", "json")
    assert (done.code, done.err) == (0, "")
    pool = json.loads(done.out)
    assert pool["policy"] == {"maxPending": "6h"}
    assert {row["resource"]: row["max"] for row in pool["quotas"]} == {"gpu": 3, "vcpu": 4}
    flags = ("--pool-id", pool["id"], "--to-tenant-id", "acme", "--quota", '{"gpu": 8}', "--include-descendants")
    offer = json.loads(fleet("pools", "offer", *flags, "--format", "compact").out)
    assert (offer["includeDescendants"], offer["quotas"][0]["max"]) == (True, 8)
    again = json.loads(fleet("pools", "offer", *flags[:-1], "--no-include-descendants", "--format", "compact").out)
    assert again["includeDescendants"] is False
    included = fleet(
        "pools", "list", "--include", "offers", "--include", "rollup", "--no-archived", "--format", "compact"
    )
    assert json.loads(included.out)["items"][0]["rollup"]["nodes"] == 0


def test_the_tenant_is_the_identitys_own_unless_it_is_said(cli: Run, database: str) -> None:
    def acts_as(*flags: str) -> str:
        made = cli("sites", "create", "--name", "x", "--kind", "custom", "--region", "r", *flags, "--format", "compact")
        return str(json.loads(made.out)["tenantId"])

    assert acts_as("--database", database, "--as", "sa_acme") == "acme"
    assert acts_as("--database", database, "--as", "sa_fleet", "--tenant", "acme") == "acme"


def test_a_table_has_the_columns_that_matter_and_a_dash_for_nothing(fleet: Run) -> None:
    fleet("pools", "create", *CREATE)
    head, row = fleet("pools", "list").out.splitlines()
    names = ["id", "idempotencyKey", "siteId", "class", "gpuModel", "sharing", "owned", "archived", "version"]
    assert head.split() == names
    assert row.split()[1:] == ["-", "site_fra1", "metal-host", "H100", "exclusive", "true", "false", "1"]
    nodes = ("nodes", "list", "--pool-id", row.split()[0])
    none = fleet(*nodes)
    assert (none.out, none.err) == ("", "There are none\n")
    assert fleet(*nodes, "--format", "compact").err == ""


def test_a_table_shows_quotas_offers_and_rights_as_short_text(fleet: Run) -> None:
    pool_id = json.loads(fleet("pools", "create", *CREATE, "--format", "json").out)["id"]
    fleet("pools", "offer", "--pool-id", pool_id, "--to-tenant-id", "acme", "--quota", "gpu=8", "--quota", "vcpu=64")
    assert fleet("pools", "listOffers").out.splitlines()[1].endswith("  gpu=8, vcpu=64")
    shown = dict(
        line.split(maxsplit=1)
        for line in fleet("pools", "get", "--pool-id", pool_id, "--include", "offers").out.splitlines()
    )
    assert (shown["quotas"], shown["offers"]) == ("gpu=unlimited", "acme: gpu=8, vcpu=64")
    assert "compute:admin, compute:events:read, " in fleet("identities", "whoami").out
    used = {"quotas": [{"resource": "gpu", "max": 8, "used": 3}, {"resource": "vcpu", "max": 0, "used": 0}]}
    assert _table("", used) == "field   value\nquotas  gpu=8 (3 used), vcpu=0\n"
    assert _table("", {"quotas": [{"gpu": 8}], "a": []}) == 'field   value\nquotas  [{"gpu":8}]\na       []\n'


def test_who_gives_a_key_for_the_id_of_a_pool_is_told_the_way(fleet: Run) -> None:
    for arguments in (["pools", "get", "--pool-id", "gpu-fra1"], ["api", "pools.archive", "poolId=gpu-fra1"]):
        assert fleet(*arguments).err == (
            "NOT_FOUND: no such pool\n"
            "Hint: gpu-fra1 is no id of a pool; if it is a key of a fleet, `fleetctl id gpu-fra1` tells the id\n"
        )
    absent = derive("pool", "root", "sa_fleet", "gpu-fra1")
    assert fleet("pools", "get", "--pool-id", absent).err == "NOT_FOUND: no such pool\n"


def test_a_table_shows_times_as_people_read_them_and_json_as_they_are(fleet: Run) -> None:
    begin = time.time_ns() // 1_000_000
    fleet("pools", "create", *CREATE)
    for operation, field in (("events", "time"), ("identities", "createdAt")):
        [*_, item] = json.loads(fleet(operation, "list", "--format", "json").out)["items"]
        assert begin - 60_000 < item[field] < begin + 60_000
        head, *_, row = fleet(operation, "list").out.splitlines()
        shown = row.split()[head.split().index(field)]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", shown)
        assert datetime.fromisoformat(shown).timestamp() == item[field] // 1000


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_795_974_600_999, "2026-11-29T17:50:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (10**30, str(10**30)),
        (None, "-"),
        (True, "true"),
        ("soon", "soon"),
    ],
)
def test_a_time_of_any_size_is_shown(value: object, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    show("nodes/get", {"joinedAt": value, "flat": 5}, "table")
    assert capsys.readouterr().out.split() == ["field", "value", "joinedAt", shown, "flat", "5"]


def test_a_page_that_is_not_the_last_says_how_to_go_on(fleet: Run) -> None:
    for key in ("a", "b"):
        fleet("pools", "create", *CREATE, "--idempotency-key", key)
    first = fleet("pools", "list", "--limit", "1")
    assert first.err.startswith("There is more: --cursor ")
    second = fleet("pools", "list", "--limit", "1", "--cursor", first.err.split()[-1])
    assert (second.code, second.err) == (0, "")
    assert first.out != second.out


def test_an_error_of_the_rules_is_shown_with_its_field(fleet: Run) -> None:
    done = fleet("pools", "create", *CREATE[:-1], "h100")
    assert done.code == 1
    assert done.err.startswith("INVALID_INPUT: gpuModel: ")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--quota", "gpu=1", "--quota", "gpu=2"], "gpu stands twice in --quota"),
        (["--quota", "gpu"], "'gpu' does not read NAME=N"),
        (["--quota", "gpu=1.5"], "does not read NAME=N"),
        (["--quota", "{"], "this is not JSON"),
        (["--quota", '{"gpu": 1, "gpu": 2}'], "the key 'gpu' stands twice"),
        (["--quota", '{"gpu": NaN}'], "NaN is not a number of JSON"),
        (["--quota", "@nowhere.json"], "nowhere.json cannot be read: No such file or directory"),
        (["--quota", "gpu=1", "--priority", "high"], "'high' is not a valid integer"),
    ],
)
def test_a_flag_that_cannot_be_read_is_a_wrong_call(fleet: Run, flags: list[str], says: str) -> None:
    done = fleet("pools", "offer", "--pool-id", "p", "--to-tenant-id", "acme", *flags)
    assert done.code == 64
    assert says in done.err


def test_a_join_token_comes_from_a_file_and_never_from_a_flag(fleet: Run, tmp_path: Path) -> None:
    pool = json.loads(fleet("pools", "create", *CREATE, "--format", "compact").out)
    made = json.loads(fleet("nodes", "createJoinToken", "--pool-id", pool["id"], "--format", "compact").out)
    token = tmp_path / "join-token.txt"
    token.write_text(made["joinToken"] + "\n")
    machine = tmp_path / "machine.json"
    machine.write_text('{"gpus": ["NVIDIA H100 80GB HBM3"], "vcpu": 8}')
    flags = ("--pool-id", pool["id"], "--inventory", f"@{machine}")
    assert fleet("nodes", "join", *flags, "--join-token", made["joinToken"]).code == 64
    node = json.loads(fleet("nodes", "join", *flags, "--join-token-file", str(token), "--format", "compact").out)
    assert (node["gpuModel"], node["inventory"]["vcpu"]) == ("H100", 8)


def test_any_operation_can_be_spelled_field_by_field(fleet: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"maxPending": "6h"}')
    fields = ("siteId=site_fra1", "class=metal-host", "gpuModel=H100", f"policy:=@{policy}", 'ownerQuota:={"gpu": 5}')
    pool = json.loads(fleet("api", "pools.create", *fields, "--format", "compact").out)
    assert (pool["policy"], pool["quotas"][0]["max"]) == ({"maxPending": "6h"}, 5)
    assert json.loads(fleet("api", "system/info", "--format", "compact").out)["instanceId"] == "test"
    assert fleet("api", "identities.whoami", "tenantId=acme").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pools.lst"], "there is no operation 'pools.lst'. did you mean \"pools.list\"?"),
        (["pools.list", "limit"], "'limit' reads neither key=value nor key:=json"),
        (["pools.list", "=1"], "reads neither"),
        (["pools.list", "limit:=1", "limit:=2"], "limit stands twice"),
        (["pools.list", "limit:=one"], "limit: this is not JSON"),
        (["pools.list", "limit:=NaN"], "limit: this is not JSON: NaN is not a number of JSON"),
        (["pools.list", "limit:=1e400"], "limit: this is not JSON: a number is beyond what a double holds"),
        (["pools.offer", 'quota:={"gpu": 1, "gpu": 2}'], "quota: this is not JSON: the key 'gpu' stands twice"),
        (["pools.list", 'cursor:="\\ud800"'], "cursor: the JSON holds half a surrogate pair"),
        (["pools.list", "cursor:=\udcff"], "cursor: the JSON is not UTF-8"),
        (["pools.list", "tenantId=root", "--tenant", "acme"], "give --tenant or tenantId, not both"),
    ],
)
def test_a_field_that_cannot_be_read_is_a_wrong_call(fleet: Run, arguments: list[str], says: str) -> None:
    done = fleet("api", *arguments)
    assert done.code == 64
    assert says in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["pools", "get", "--pool-id", "\udcff"],
        ["pools", "list", "--tenant", "\udcff"],
        ["api", "pools.get", "poolId=\udcff"],
        ["api", "pools.get", "\udcff=x"],
    ],
    ids=ascii,
)
def test_an_argument_that_is_not_unicode_is_bad_input(fleet: Run, arguments: list[str]) -> None:
    done = fleet(*arguments)
    assert done.code == 1
    assert done.err == "INVALID_INPUT: what is to be sent is no JSON: a text is not Unicode, or it is nested too deep\n"


@pytest.mark.parametrize("name", ["", " ", "\udcff", "é"], ids=ascii)
def test_who_asks_has_the_id_of_an_identity(cli: Run, database: str, name: str) -> None:
    done = cli("pools", "list", "--database", database, "--as", name)
    assert done.code == 1
    assert done.err == (
        "UNAUTHENTICATED: caller: the embedded control plane is asked as an identity, and this is the id of none\n"
        "Hint: an id is 1 to 128 ASCII letters, digits and . _ : - and begins with a letter or digit\n"
    )


def test_a_token_is_for_a_server_and_a_database_believes_a_name(cli: Run, database: str) -> None:
    done = cli("system", "info", "--database", database, "--as", "sa_fleet", "--token-file", "/nowhere")
    assert (done.code, "--token-file goes with --server" in done.err) == (64, True)


def test_flags_beat_the_environment(fleet: Run, monkeypatch: pytest.MonkeyPatch, cli: Run, database: str) -> None:
    monkeypatch.setenv("BETTER_COMPUTE_SERVER", "http://127.0.0.1:1")
    assert fleet("system", "info").code == 0
    monkeypatch.delenv("BETTER_COMPUTE_SERVER")
    monkeypatch.setenv("BETTER_COMPUTE_DATABASE", database)
    assert cli("system", "info", "--as", "sa_fleet").code == 0
    monkeypatch.setenv("BETTER_COMPUTE_TOKEN", "bc_example")
    done = cli("system", "info", "--server", "compute.example.com")
    assert done.code == 1
    assert done.err == (
        "INVALID_INPUT: server: not the URL of a server: compute.example.com\n"
        'Hint: did you mean "https://compute.example.com"?\n'
    )
