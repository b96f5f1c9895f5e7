"""forEach: the entries that it makes are those that one would write out, and stand where the template does."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.problems import Source
from fleetctl.desired import Desired, check
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import load
from tests.fleets import Fleet, fleets, write
from tests.reading import HEAD, desired, refusal, refused, said

TEMPLATE = """\
pools:
  - forEach: {site: [fra1, ams1], size: [8, 16]}
    idempotencyKey: ${site}-h100-${size}
    siteId: site_${site}
    class: metal-host
    gpuModel: H100
    policy: {note: "$${site} is $$${site}", sizes: ["${size}", 8, null]}
    offers:
      - {toTenantId: "${site}-team", quota: {gpu: 8}}
"""
TWIN = """\
pools:
%s"""
WRITTEN = """\
  - idempotencyKey: {site}-h100-{size}
    siteId: site_{site}
    class: metal-host
    gpuModel: H100
    policy: {{note: "${{site}} is $${{site}}", sizes: ["{size}", 8, null]}}
    offers:
      - {{toTenantId: "{site}-team", quota: {{gpu: 8}}}}
"""


def template(more: str = "", variables: str = "{site: [fra1, ams1]}", key: str = "${site}-a") -> str:
    """A fleet of one template in flow style, with more fields."""
    fields = "siteId: s, class: metal-host, gpuModel: H100"
    return f'{HEAD}pools: [{{forEach: {variables}, idempotencyKey: "{key}", {fields}{more}}}]\n'


def same_wishes(one: Desired, other: Desired) -> bool:
    def parts(fleet: Desired) -> list[Any]:
        return [(e.pool, e.offers, e.offers_are, e.archived, e.key) for e in fleet.entries.values()]

    return parts(one) == parts(other) and canonical_inputs(one) == canonical_inputs(other)


def test_one_entry_stands_for_each_combination() -> None:
    made = desired(HEAD + TEMPLATE)
    entries = "".join(WRITTEN.format(site=s, size=n) for s, n in product(("fra1", "ams1"), (8, 16)))
    assert same_wishes(made, desired(HEAD + TWIN % entries))
    assert sorted(str(e.key) for e in made.entries.values()) == [
        "ams1-h100-16",
        "ams1-h100-8",
        "fra1-h100-16",
        "fra1-h100-8",
    ]


def test_every_text_of_the_entry_takes_variables() -> None:
    more = ', previously: "old-${n}", agent: "${a}", policyRef: "p${n}"'
    policies = "policies: {p1: {note: '${n}'}, p2: {}}\n"
    made = desired(template(more, "{n: [1, 2], a: [none]}", "k-${n}") + policies)
    entries = {e.key: e for e in made.entries.values()}
    one = entries["k-1"]
    assert one.pool
    assert (one.previously, one.pool.agent, one.pool.policy) == ("old-1", "none", {"note": "${n}"})
    assert entries["k-2"].previously == "old-2"
    adopted = template(', id: "pool_${n}"', "{n: [1, 2]}", "k-${n}")
    assert [*desired(adopted).entries] == ["pool_1", "pool_2"]


def test_values_are_not_filled_in_again() -> None:
    made = desired(template(", policy: {note: '${a}'}", "{a: ['${b}'], b: [x]}", "k-${b}"))
    (entry,) = made.entries.values()
    assert entry.pool
    assert entry.pool.policy == {"note": "${b}"}


def test_without_for_each_a_text_is_itself() -> None:
    text = (
        HEAD
        + "pools: [{idempotencyKey: a, siteId: s, class: metal-host, gpuModel: H100, policy: {a: '${x}', b: '$${y}'}}]"
    )
    (entry,) = desired(text).entries.values()
    assert entry.pool
    assert entry.pool.policy == {"a": "${x}", "b": "$${y}"}


def test_offers_of_lists_name_the_keys_that_came_out() -> None:
    listed = "offers: [{pool: ams1-a, toTenantId: acme, quota: {gpu: 8}}]\n"
    by_key = {e.key: [*e.offers] for e in desired(template(), listed).entries.values()}
    assert by_key == {"fra1-a": [], "ams1-a": ["acme"]}


def test_a_template_may_come_by_alias_or_merge() -> None:
    text = HEAD + (
        "x-base: &base {forEach: {site: [fra1, ams1]}, siteId: 'site_${site}', class: metal-host, gpuModel: H100}\n"
        "pools: [{<<: *base, idempotencyKey: '${site}-a'}, {<<: *base, idempotencyKey: '${site}-b'}]\n"
    )
    assert sorted(str(e.pool and e.pool.site_id) for e in desired(text).entries.values()) == [
        *["site_ams1"] * 2,
        *["site_fra1"] * 2,
    ]


def test_what_is_wrong_in_a_template_is_told_once_where_it_stands() -> None:
    text = HEAD + TEMPLATE.replace("gpuModel: H100", "gpuModel: h100")
    (problem,) = found = check.problems(desired(text))
    assert problem.source == Source("0.yaml", 9, 15), said(found)
    wrong = refusal(HEAD + TEMPLATE.replace("class: metal-host", "class: metal-host\n    colour: red"))
    assert (wrong.rule, wrong.source) == ("fleet.unknown", Source("0.yaml", 9, 5))


def test_a_value_that_does_not_fit_is_named_with_its_variables() -> None:
    problem = refusal(template(variables="{site: [fra1, 'ams 1']}"))
    assert (problem.path, problem.hint) == ("pools[1].idempotencyKey", "forEach writes text here, with site: ams 1")
    number = refusal(template(", offers: [{toTenantId: acme, quota: {gpu: '${n}'}}]", "{n: [8]}", "k"))
    assert (number.rule, number.hint) == ("quota.value", "forEach writes text here, with n: 8")


def test_a_variable_without_its_list_is_hinted_at() -> None:
    text = template().replace("forEach: {site: [fra1, ams1]}, ", "")
    problem = refusal(text)
    assert (problem.rule, problem.hint) == ("fleet.type", "a variable is filled in where the entry has forEach")


@pytest.mark.parametrize(
    ("variables", "key", "hint"),
    [
        ("{site: [fra1, ams1]}", "a", "write ${site} into it"),
        ("{site: [fra1, ams1], n: [1, 2], one: [x]}", "${site}", "write ${n} into it"),
        ("{site: [fra1, ams1], n: [1, 2]}", "a", "write ${site} and ${n} into it"),
        ("{site: [ab, a], n: [c, bc]}", "${site}${n}", ""),
    ],
)
def test_a_template_that_makes_a_key_twice_is_one_finding_that_names_it(variables: str, key: str, hint: str) -> None:
    problem = refusal(template(variables=variables, key=key))
    assert (problem.rule, problem.hint) == ("fleet.twice", hint)
    assert problem.message.endswith("forEach makes both of this template")
    assert problem.path.endswith(".idempotencyKey")


def test_a_key_of_a_template_and_of_another_entry_is_found_with_both_places() -> None:
    other = "pools: [{idempotencyKey: ams1-a, archived: true}]\n"
    problem = refusal(template(), other)
    assert (problem.rule, problem.source) == ("fleet.twice", Source("1.yaml", 1, 26))
    assert "0.yaml:4:57" in problem.message


@pytest.mark.parametrize(
    ("variables", "rule", "path", "words"),
    [
        ("", "fleet.null", "", "such as {site: [fra1, ams1]}"),
        ("{}", "fleet.type", "", "not an empty map"),
        ("[]", "fleet.type", "", "not an empty list"),
        ("[fra1]", "fleet.type", "", "not a list"),
        ("fra1", "fleet.type", "", "a map of variables"),
        ("3", "fleet.type", "", "not 3"),
        ("{site: }", "fleet.type", ".site", "not null"),
        ("{site: []}", "fleet.type", ".site", "one at least, not an empty list"),
        ("{site: fra1}", "fleet.type", ".site", "put it in brackets"),
        ("{site: {a: b}}", "fleet.type", ".site", "not a map"),
        ("{site: [null]}", "fleet.type", ".site[0]", "not null"),
        ("{site: [[a]]}", "fleet.type", ".site[0]", "not a list"),
        ("{site: [{a: b}]}", "fleet.type", ".site[0]", "not a map"),
        ("{site: [true]}", "fleet.type", ".site[0]", 'in quotes it is text: "true"'),
        ("{site: [1.5]}", "fleet.type", ".site[0]", "not 1.5"),
        ('{site: ["a\\nb"]}', "fleet.type", ".site[0]", "text of one line"),
        ("{'a b': [x]}", "fleet.type", ".a b", "a name here must be"),
        ("{'': [x]}", "fleet.type", ".", "a name here must be"),
        ("{site: [a, b, a]}", "fleet.forEach", ".site[2]", "as item 1 and as item 3"),
        ("{site: [1, '1']}", "fleet.forEach", ".site[1]", "stands twice"),
    ],
)
def test_lists_of_values_are_exact(variables: str, rule: str, path: str, words: str) -> None:
    problem = refusal(template(variables=variables))
    assert (problem.rule, problem.path) == (rule, f"pools[0].forEach{path}")
    assert words in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        (", agent: '${sit}'", "agent", 'did you mean "site"?'),
        (", agent: '${ site }'", "agent", 'did you mean "site"?'),
        (", agent: '${Site}'", "agent", 'did you mean "site"?'),
        (", agent: '${site|upper}'", "agent", "it has site"),
        (", agent: '${}'", "agent", "write $${ where ${ itself is meant"),
        (", agent: '${site'", "agent", "this ${ has no } after a name"),
        (", agent: '${a{b}}'", "agent", "this ${ has no } after a name"),
        (", policy: {a: [{b: '${x}'}]}", "policy.a[0].b", "no variable x"),
        (", policy: {'${site}': 1}", "policy.${site}", "names none"),
    ],
)
def test_what_is_no_variable_is_refused_with_those_that_are(more: str, path: str, words: str) -> None:
    problem = refusal(template(more))
    assert (problem.rule, problem.path) == ("fleet.variable", f"pools[0].{path}")
    assert words in f"{problem.message} {problem.hint}"


def test_every_mistake_of_a_template_is_told_and_nothing_that_follows_from_it() -> None:
    listed = "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]\n"
    problems = refused(template(", agent: '${x}', policy: {a: '${y}'}", "{site: [a, a]}") + listed)
    assert [p.path for p in problems] == ["pools[0].forEach.site[1]", "pools[0].agent", "pools[0].policy.a"]


def test_a_template_makes_a_thousand_entries_at_most() -> None:
    tens = ", ".join(f"n{n}: [{', '.join(map(str, range(10)))}]" for n in range(3))
    key = "k-${n0}${n1}${n2}"
    assert len(desired(template(variables=f"{{{tens}}}", key=key)).entries) == 1000
    problem = refusal(template(variables=f"{{{tens}, m: [a, b]}}", key=key + "${m}"))
    assert (problem.rule, problem.message) == ("fleet.forEach", "this makes 2000 entries, and the most is 1000")


def test_a_few_lines_do_not_fill_the_memory() -> None:
    values = ", ".join(map(str, range(1000)))
    entry = "  - {forEach: {n: [%s]}, idempotencyKey: '%s-${n}', policy: {a: [%s]}, archived: true}\n"
    notes = ", ".join(["'${n}'"] * 2500)
    problems = refused(HEAD + "pools:\n" + "".join(entry % (values, name, notes) for name in ("a", "b", "c")))
    assert {p.message for p in problems} == {"the entries with forEach make more than 5000000 values in this fleet"}


@given(fleets(), st.randoms(use_true_random=False), st.data())
def test_a_fleet_and_its_template_twin_wish_the_same(fleet: Fleet, random: Random, data: st.DataObject) -> None:
    """Entries that are written out differ in nothing from those that a template makes, however both are written."""
    values = data.draw(st.lists(st.sampled_from(("a", "b", "c", "7")), min_size=1, max_size=3, unique=True))
    short, long = deepcopy(fleet), deepcopy(fleet)
    pool = short.pools.pop(0)
    long.pools.pop(0)
    short.pools.append(_with_variable(pool, "${x}") | {"forEach": {"x": values}})
    long.pools += [_with_variable(pool, value) for value in values]
    assert same_wishes(_written(short, random, whole=True), _written(long, random))


def _with_variable(pool: dict[str, Any], text: str) -> dict[str, Any]:
    key = f"{pool['idempotencyKey']}-{text}"
    named = {"id": f"pool_{text}"} if "id" in pool else {}
    policy = {**pool["policy"], "note": f"of {text}"} if "policy" in pool else {"note": text}
    offers = pool.get("offers")
    if isinstance(offers, list):
        offers = [{**offer, "toTenantId": f"{offer['toTenantId']}.{text}"} for offer in offers]
    rest = {"offers": offers} if offers is not None else {}
    return {**deepcopy(pool), "idempotencyKey": key, "policy": policy, **named, **rest}


def _written(fleet: Fleet, random: Random, *, whole: bool = False) -> Desired:
    """The fleet as its files are read. `whole`: in one document, since lists cannot offer what a template names."""
    if whole:
        return desired("\n---\n".join(json.dumps(document) for document in fleet.documents()))
    with TemporaryDirectory() as directory:
        write(fleet, Path(directory), random)
        return load(Path(directory))
