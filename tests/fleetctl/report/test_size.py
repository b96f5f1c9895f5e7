"""Large plans, from files to output: every step costs in proportion to the operations."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fleetctl import guards, plan, preflight
from fleetctl.consequences import Consequences
from fleetctl.look import Look
from fleetctl.machine.collector import paused
from fleetctl.render import json_, text
from fleetctl.report.of_plan import of_plan
from fleetctl.report.saved import read_plan
from tests.builders import NOW
from tests.fleetctl.report.world import NO_OVERRIDE, World, a_header, wished

Steps = dict[str, float]


def steps(pools: int, entry: Callable[[int], str], offers: int) -> Steps:
    """Seconds of the processor for each step of a plan over so many pools, each offered to as many tenants."""
    taken: Steps = {}
    began = time.process_time()

    def step(name: str) -> None:
        nonlocal began
        taken[name] = time.process_time() - began
        began = time.process_time()

    world = World()
    for n in range(pools):
        world.pool(f"fra1-{n:06}", {f"t{(n + k) % 500}": {"gpu": 8} for k in range(offers)}, {f"t{n % 500}": 4})
    live = world.live()
    step("build the test")
    desired = wished("".join(f"  - {{idempotencyKey: fra1-{n:06}, {entry(n)}}}\n" for n in range(pools)))
    step("read the files")
    made = plan.make(desired, live)
    step("make the plan")
    does = Consequences(made, live)
    guarded = guards.guarded(does, NO_OVERRIDE, NOW)
    found = [*preflight.problems(made, live, None), *guarded.problems]
    step("judge it")
    report = of_plan(made.with_findings(found), a_header(), does, guarded.taken)
    step("report it")
    assert text.render(report, Look(verbose=True))
    step("say it")
    assert read_plan(json_.render(report).encode())["digest"] == made.digest
    step("write and read it")
    assert len(made.operations) >= pools
    return taken


def offered(n: int) -> str:
    """The tenants and the quotas of a pool move on."""
    tenants = ", ".join(
        f"{{toTenantId: t{(n + k + 1) % 500}, quota: {{gpu: {4 + (n * 7 + k) % 12}}}}}" for k in range(3)
    )
    return f"policy: {{maxPending: {1 + n % 9}h}}, offers: [{tenants}]"


@pytest.mark.long
@pytest.mark.parametrize(
    "entry", [offered, lambda _: "archived: true", lambda _: "gpuModel: H200, offers: []"], ids=["move", "end", "model"]
)
def test_the_cost_of_each_step_grows_with_the_plan(
    entry: Callable[[int], str], capsys: pytest.CaptureFixture[str]
) -> None:
    # Ten times the pools; the square would be 100 times the seconds. Caches that no longer hold it cost some.
    with paused():
        few, many = (steps(pools, entry, 3) for pools in (1000, 10_000))
    with capsys.disabled():
        print(*(f"\n{name}: {few[name]:.3f} s, then {many[name]:.3f} s" for name in few))
    assert {name: many[name] for name in few if many[name] > 25 * max(few[name], 0.01)} == {}
