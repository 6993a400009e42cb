from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.templates import Store
from tests.templates.made import root_filesystem


@pytest.fixture(scope="session")
def provider() -> BubblewrapProvider:
    return BubblewrapProvider()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return root_filesystem(tmp_path_factory.mktemp("root") / "rootfs")
