"""The golden numbers are still what the libraries compute; `make test-statistics` installs them."""

from __future__ import annotations

import json

import pytest

from tests.agreement.reference import GOLDEN, computed


@pytest.mark.filterwarnings("default")  # of the libraries, about their own dependencies
def test_the_golden_numbers_are_the_libraries() -> None:
    for name in ("sklearn.metrics", "statsmodels.api", "krippendorff"):
        pytest.importorskip(name, reason=f"{name.partition('.')[0]} is for `make test-statistics` only")
    found, kept = computed(), json.loads(GOLDEN.read_text())
    for kind in ("pairs", "units"):
        for ours, theirs in zip(found[kind], kept[kind], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-12)
    assert found["rates"] == pytest.approx(kept["rates"], abs=1e-12)
