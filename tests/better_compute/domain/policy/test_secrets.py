"""Sensitive values are found by the names above them and by the user part of URLs, and are shown nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.policy import conceal, has_userinfo, is_sensitive_name, mask, sensitive_paths
from better_compute.domain.policy.urls import mask_message
from tests.better_compute.domain.policy.strategies import json_values, law
from tests.timing import times_as_long

SECRET = "hunter2-example"


@pytest.mark.parametrize(
    "name",
    [
        "password", "Password", "PASSWORD", "dbPassword", "db_password", "db-password", "passwords", "passwordFile",
        "passwd", "secret", "clientSecret", "secrets", "token", "accessToken", "ACCESS_TOKEN", "accesstoken", "token2",
        "joinToken", "apiKey", "APIKey", "api_key", "x-api-key", "apikey", "apiKeys", "API_KEYS", "privateKey",
        "private-key", "privatekey", "sshPrivateKey", "credential", "credentials", "awsCredentials",
        "token" + "_x" * 1000,
    ],
)  # fmt: skip
def test_a_name_with_a_sensitive_word_is_sensitive(name: str) -> None:
    assert is_sensitive_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "key", "idempotencyKey", "join-token", "publicKey", "keyPrefix", "tokenizer", "secretary", "monkey",
     "acceptance", "pass", "api", "private", "credentialed", "keyApi"],
)  # fmt: skip
def test_other_names_are_not(name: str) -> None:
    assert not is_sensitive_name(name)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://u:pw@hooks.example/x", "https://(sensitive)@hooks.example/x"),
        ("ssh://git@host/repo", "ssh://(sensitive)@host/repo"),
        ("postgresql://u:p%40w@db:5432/x?a=b", "postgresql://(sensitive)@db:5432/x?a=b"),
        ("https://u:p@w@host/x", "https://(sensitive)@host/x"),
        ("https://u:p/w@host/x", "https://(sensitive)@host/x"),
        ("https://u:p#w?x@host/x", "https://(sensitive)@host/x"),
        ("//u:p@host/x", "//(sensitive)@host/x"),
        ("see https://a:1@x and https://b:2@y", "see https://(sensitive)@x and https://(sensitive)@y"),
    ],
)
def test_the_user_part_of_a_url_is_masked(text: str, masked: str) -> None:
    assert has_userinfo(text)
    assert mask(text) == masked
    assert mask({"webhook": [text]}) == {"webhook": [masked]}


@pytest.mark.parametrize(
    "text",
    ["", "a@b.example", "https://host/x", "https://host/@user", "https://host:8080/@user", "https://host/x?mail=a@b.c",
     "https://host:8080?x=a@b", "http://[::1]/x", "https://host//a@b", "// @", "user:pw"],
)  # fmt: skip
def test_other_text_is_left_alone(text: str) -> None:
    assert not has_userinfo(text)
    assert mask(text) == text


def test_all_that_stands_under_a_sensitive_name_is_hidden() -> None:
    value = {"registry": {"user": "ci", "password": SECRET}, "credentials": {"a": [1, None]}, "list": [{"apiKey": 7}]}
    assert mask(value) == {
        "registry": {"user": "ci", "password": "(sensitive)"},
        "credentials": "(sensitive)",
        "list": [{"apiKey": "(sensitive)"}],
    }
    assert mask([SECRET], "password") == mask(None, "password") == "(sensitive)"
    assert sensitive_paths(value, "policy") == [
        "policy.registry.password",
        "policy.credentials",
        "policy.list[0].apiKey",
    ]


def test_keys_attestors_and_taints_are_shown() -> None:
    value = {"idempotencyKey": "k", "joinAttestors": ["join-token"], "taints": [{"key": "dedicated", "value": "acme"}]}
    assert mask(value) == value
    assert sensitive_paths(value) == []


def test_an_object_with_a_secret_in_a_name_is_hidden_whole_and_its_place_does_not_tell() -> None:
    value = {"mirrors": {f"https://u:{SECRET}@host": 1}}
    assert mask(value) == {"mirrors": "(sensitive)"}
    assert sensitive_paths(value) == ["mirrors"]


def test_what_is_too_deep_to_look_through_is_hidden() -> None:
    value: Any = {"password": SECRET}
    for _ in range(5_000):
        value = [value]
    assert SECRET not in json.dumps(mask(value))
    assert len(sensitive_paths(value)) == 1


def test_a_mask_is_a_copy() -> None:
    value = {"registry": {"password": SECRET, "list": [1]}}
    mask(value)["registry"]["list"].append(2)
    assert value == {"registry": {"password": SECRET, "list": [1]}}


def test_concealing_keeps_two_secrets_apart_and_leaves_all_else() -> None:
    def hidden(value: Any) -> dict[str, int]:
        return {"length": len(json.dumps(value))}

    value = {"password": "abc", "webhook": "https://u:p@h/x", "note": "https://h/x", "n": 1}
    assert conceal(value, hidden) == {
        "password": {"length": 5},
        "webhook": {"length": 17},
        "note": "https://h/x",
        "n": 1,
    }


sensitive_names = st.sampled_from(["password", "apiToken", "client_secret", "PRIVATE_KEY"])
planted = st.one_of(
    st.builds(lambda name, inner: {name: [SECRET, inner]}, sensitive_names, json_values),
    st.just(f"https://u:{SECRET}@host/x"),
    st.just({f"https://{SECRET}@host": 1}),
)


@law
@given(st.recursive(planted, lambda inner: st.lists(inner | json_values) | st.dictionaries(st.text(max_size=3), inner)))
def test_a_mask_leaves_no_secret(value: Any) -> None:
    assert SECRET not in json.dumps(mask(value))
    assert SECRET not in json.dumps(conceal(value, lambda _: "x"))
    assert SECRET not in json.dumps(sensitive_paths(value))
    assert bool(sensitive_paths(value)) is (SECRET in json.dumps(value))


@law
@given(json_values)
def test_masking_again_changes_nothing(value: Any) -> None:
    assert repr(mask(mask(value))) == repr(mask(value))


@pytest.mark.parametrize(("part", "end"), [("//", "@"), ("a://b:c", "@ "), (":", "@"), ("//a:", "@")])
def test_hostile_text_costs_linear_time(part: str, end: str) -> None:
    def prepared(length: int) -> Callable[[], object]:
        return partial(mask, part * (length // len(part)) + end)

    assert times_as_long(prepared, 16_000, 128_000) < 24, "the square would be 64 times as long"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no such file: https:/u:pw@h/x", "no such file: https:/(sensitive)@h/x"),
        ("'../https:/u:p/w@h'", "'../https:/(sensitive)@h'"),
        ("of https://u:pw@h", "of https://(sensitive)@h"),
        ("fleet.yaml:8:/a@b", "fleet.yaml:8:/a@b"),
        ("embedded:/a/b@c d@e", "embedded:/a/b@c d@e"),
    ],
)
def test_of_a_url_that_was_taken_for_a_path_the_user_part_is_not_said(said: str, shown: str) -> None:
    assert mask_message(said) == mask_message(shown) == shown
