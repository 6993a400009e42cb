"""YAML to `Rubric`: strict, with the place of every fault, and nothing read twice."""

from rubricgrade.loading.data import read_data
from rubricgrade.loading.lint import check_rubric
from rubricgrade.loading.rubric import load_rubric, parse_rubric
from rubricgrade.loading.schema import rubric_schema

__all__ = ["check_rubric", "load_rubric", "parse_rubric", "read_data", "rubric_schema"]
