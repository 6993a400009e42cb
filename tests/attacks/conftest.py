"""The real provider, and an arena of its own for every attack."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.sandbox import Provider, default_provider
from tests.attacks.arena import Arena


@pytest.fixture(scope="session")
def provider() -> Provider:
    return default_provider()


@pytest.fixture
def arena(provider: Provider, tmp_path: Path) -> Arena:
    return Arena(provider, tmp_path)
