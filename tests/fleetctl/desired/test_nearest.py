"""The name that was meant, however many there are."""

from __future__ import annotations

from collections.abc import Callable

from fleetctl.desired.nearest import Nearest
from tests.reading import HEAD, POOL, refused
from tests.timing import times_as_long


def test_a_slip_is_met_with_the_nearest_of_thousands() -> None:
    known = [f"fra1-{n:05d}" for n in range(10_000)]
    assert Nearest().hint("fra1-00017x", known) == 'did you mean "fra1-00017"?'
    assert Nearest().hint("00017-fra1", known) == ""


def test_among_few_one_that_is_like_it_is_enough() -> None:
    assert Nearest().hint("fra1-h100-spare", ["fra1-h100", "ams1"]) == 'did you mean "fra1-h100"?'
    assert Nearest().hint("zzz", ["fra1-h100", "ams1"]) == ""


def test_when_many_names_were_looked_at_there_are_no_more_hints() -> None:
    nearest, known = Nearest(left=5), ["fra1-a"]
    assert [nearest.hint("fra1-b", known), nearest.hint("fra1-b", known)] == ['did you mean "fra1-a"?', ""]


def test_mistakes_in_a_large_fleet_cost_little() -> None:
    """About as much again as to read it, for 49 of them."""
    pools = HEAD + "pools:\n" + "".join(POOL.replace("fra1-a", f"fra1-h100-{n:05d}") for n in range(2000))

    def prepared(mistakes: int) -> Callable[[], object]:
        names = [f"fra1-h100-{n:05d}x" for n in range(mistakes)]
        offers = "".join(f"  - {{pool: {name}, toTenantId: acme, quota: {{gpu: 8}}}}\n" for name in names)
        assert len(refused(pools, "offers:\n" + offers)) == mistakes
        return lambda: refused(pools, "offers:\n" + offers)

    assert times_as_long(prepared, 1, 49) < 4
