"""Faults that people met with comparable tools, each by its number; every test goes through the whole command."""

from pathlib import Path

import pytest

from tests.e2e.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty fleet, and a control plane with tenants and sites."""
    return Home(tmp_path)
