"""Rules on the GPU driver: the branches and the kernel module that a family works with."""

from __future__ import annotations

from collections.abc import Iterator

from better_compute.domain.families import is_before_turing, needs_open_module, oldest_branch
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.scope import Scope, problem
from better_compute.domain.policy.shapes import is_allowed
from better_compute.domain.problems import Problem

_LAST_BRANCH_BEFORE_TURING = 580
_VERSION = FIELDS["gpu.driver.version"]


def check_driver(scope: Scope) -> Iterator[Problem]:
    """`policy.gpu.driver.*`, where the pool's family is known."""
    if scope.model is not None:
        yield from _version(scope, scope.model)
        yield from _module(scope, scope.model)


def _version(scope: Scope, model: str) -> Iterator[Problem]:
    version = scope.get("gpu.driver.version")
    if not is_allowed(version, _VERSION):
        return
    branch, oldest = int(version.partition(".")[0]), oldest_branch(model)
    if oldest is not None and branch < oldest:
        said = f"the first driver branch for {model} is {oldest}, and this is one of {branch}"
        yield problem("gpu.driver.version", said, f"use a version of {oldest} or later")
    if is_before_turing(model) and branch > _LAST_BRANCH_BEFORE_TURING:
        said = f"the last driver branch for {model} is {_LAST_BRANCH_BEFORE_TURING}"
        yield problem("gpu.driver.version", said, f"use a {_LAST_BRANCH_BEFORE_TURING} version")


def _module(scope: Scope, model: str) -> Iterator[Problem]:
    module = scope.get("gpu.driver.kernelModule")
    if module == "open" and is_before_turing(model):
        yield problem("gpu.driver.kernelModule", f"{model} has no open kernel module", "use proprietary")
    if module == "proprietary" and needs_open_module(model):
        yield problem("gpu.driver.kernelModule", f"{model} needs the open kernel module", "use open")
