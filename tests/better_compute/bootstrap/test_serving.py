"""Where a control plane listens."""

import pytest

from better_compute.bootstrap.serving import is_private, listen, url_of
from better_compute.domain.problems import ComputeError


def test_port_0_is_any_free_one() -> None:
    with listen("127.0.0.1:0") as listening:
        assert url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert is_private(listening)


@pytest.mark.parametrize("address", ["", "8080", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "::1:80", "[::1]80"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ComputeError, match="an address reads HOST:PORT"):
        listen(address)


@pytest.mark.parametrize("host", ["..", "x" * 80, "\udcff"], ids=ascii)
def test_what_cannot_be_the_name_of_a_host_is_bad_input(host: str) -> None:
    with pytest.raises(ComputeError, match="this is no name of a host") as caught:
        listen(f"{host}:80")
    assert caught.value.code == "INVALID_INPUT"


def test_a_port_in_use_is_bad_input() -> None:
    with listen("127.0.0.1:0") as listening, pytest.raises(ComputeError, match=r"cannot listen at .*in use"):
        listen(f"127.0.0.1:{listening.getsockname()[1]}")
