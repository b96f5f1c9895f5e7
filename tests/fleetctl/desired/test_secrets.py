"""What stands below a sensitive name is in no message, whatever else is wrong there: not with a template, not with a
rule of the domain."""

from __future__ import annotations

import pytest

from better_compute.domain.problems import Problem
from fleetctl import checks
from fleetctl.desired import check
from fleetctl.files import FilesError
from tests.reading import HEAD, desired, said

SECRET = "HUNTER2"
VALUES = {
    "no variable": "'pa${HUNTER2}ss'",
    "like a variable": "'${siteHUNTER2}'",
    "not closed": "'${HUNTER2'",
    "a variable in a name": "{'${HUNTER2}': 1}",
    "a variable in a list": "[{a: ['${HUNTER2}']}]",
    "variables": "'${site}HUNTER2${sit}'",
    "a name": "{HUNTER2: [1]}",
    "a name that is none": "{'': HUNTER2, 'HUNTER2 x': null}",
    "a number": "998877",
    "a large number": "998877998877998877998877998877",
    "a fraction": "{a: 9988.77}",
    "null": "{HUNTER2: null}",
    "a long name": f"{{{'HUNTER2' * 30}: 1}}",
    "deep": "{a: " * 30 + "{HUNTER2: '${HUNTER2}'}" + "}" * 30,
}
NAMES = ("password", "apiToken", "registry: {password", "acceptance: {token", "hugepages: {secrets", "gpu: {passwd")
SHAPES = (
    "pools: [{{{template}idempotencyKey: fra1-a, siteId: site_fra1, class: metal-host, gpuModel: H100,"
    " policy: {policy}}}]\n",
    "pools: [{{{template}idempotencyKey: fra1-a, siteId: site_fra1, class: metal-host, gpuModel: H100,"
    " policyRef: std, policy: {{a: {policy}}}}}]\npolicies: {{std: {policy}}}\n",
    "pools: [{{{template}idempotencyKey: fra1-a, siteId: site_fra1, class: none, gpuModel: H100, policyRef: std}}]\n"
    "policies: {{std: {policy}}}\n",
    "pools: [{{{template}idempotencyKey: fra1-a, siteId: site_fra1, klass: none, gpuModel: H100, offers: {policy}}}]\n",
    "pools: [{{{template}idempotencyKey: {policy}, sharing: {policy}, gpuModel: {policy}}}]\n",
    "allowEmpty: true\nguards: {policy}\nprices: {policy}\nserver: {policy}\nchecks: [{policy}]\n",
    "allowEmpty: true\nexpected: [{policy}]\nexclude: {policy}\npreviousCallers: {policy}\n",
    "allowEmpty: true\ndefaults: {{pool: {policy}, offer: {policy}}}\noffers: [{policy}]\npolicies: {policy}\n",
)
TEMPLATES = ("", "forEach: {site: [fra1]}, ", "forEach: {site: [fra1, ams1], sitHUNTER: [a]}, ")


def found(text: str) -> list[Problem]:
    """Whatever is wrong with a text."""
    try:
        wished = desired(HEAD + text)
    except FilesError as error:
        return list(error.problems)
    return [*check.problems(wished), *checks.mistakes(wished.checks)]


@pytest.mark.parametrize("value", VALUES)
def test_no_message_shows_a_part_of_what_stands_below_a_sensitive_name(value: str) -> None:
    told = 0
    for name in NAMES:
        policy = "{" + f"{name}: {VALUES[value]}" + "}" * (1 + name.count("{"))
        for shape in SHAPES:
            for template in TEMPLATES:
                problems = found(shape.format(template=template, policy=policy))
                told += len(problems)
                for line in said(problems):
                    assert SECRET not in line.replace("sitHUNTER", ""), (line, policy)
                    assert "9988" not in line, (line, policy)
    assert told > 100


def test_what_is_no_secret_is_told() -> None:
    [problem] = found(
        "pools: [{forEach: {site: [fra1]}, idempotencyKey: 'fra1-${site}', policy: {note: '${HUNTER2}'},"
        " siteId: a, class: metal-host, gpuModel: H100}]\n"
    )
    assert problem.message == "forEach has no variable HUNTER2; it has site"
