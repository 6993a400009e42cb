"""The models, fetched; a test that needs one which can't be had is skipped with the reason."""

from __future__ import annotations

import pytest

from tests.local.fetching import QWEN, SMOLLM2, Model, model_file


@pytest.fixture(scope="session")
def smollm2() -> str:
    """The name of a judge that answers by chance, and fast."""
    return _judge(SMOLLM2)


@pytest.fixture(scope="session")
def qwen() -> str:
    """The name of the smallest judge that was seen to do better than chance on something."""
    return _judge(QWEN)


def _judge(model: Model) -> str:
    pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install 'rubricgrade[local]'")
    try:
        return f"local:{model_file(model)}"
    except OSError as error:
        pytest.skip(f"{model.name} can't be had: {error}")
