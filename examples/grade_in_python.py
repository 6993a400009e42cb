"""Grade one stored episode: ``python examples/grade_in_python.py``."""

from pathlib import Path

from rubricgrade import grade, load_rubric, load_trajectory

CALC = Path(__file__).resolve().parent / "seed-tasks" / "calc"

if __name__ == "__main__":
    g = grade(load_trajectory(CALC / "episodes" / "rejects-underscores"), load_rubric(CALC / "rubric.yaml"))
    print(g.status, g.score, g.bounds)
    for evidence in g.criteria[0].evidence:
        print(evidence.quote)
