"""What the defences against talk to the judge do to honest records: how many are suspected, and how much is respelled.

    python benchmarks/drift.py [FOLDER_OR_FILE ...] [--names]

Every trajectory below the folders that can be read is made into a record as for a criterion without settings of its
own. What the defences do to a judge's answers is measured by `rubricgrade judge check` ("no drift").
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rubricgrade import load_trajectories
from rubricgrade.errors import RubricgradeError
from rubricgrade.evidence import visible
from rubricgrade.judge.record import Record, sight_of
from rubricgrade.rubric import Judge
from rubricgrade.trajectory import Trajectory

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def trajectories(paths: list[Path]) -> Iterator[Trajectory]:
    """Every trajectory of the files below some paths; what is none is passed over."""
    seen: set[str] = set()
    files = [
        file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*"))) if file.is_file()
    ]
    for file in files:
        try:
            found = load_trajectories(file)
        except (RubricgradeError, OSError):
            continue
        for trajectory in found:
            if trajectory.hash not in seen:
                seen.add(trajectory.hash)
                yield trajectory


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=[EXAMPLES], help="default: our own examples")
    parser.add_argument("--names", action="store_true", help="name the records that are suspected")
    arguments = parser.parse_args()
    signs = Counter[str]()
    total = suspected = respelled = characters = changed = 0
    for trajectory in trajectories(arguments.paths):
        record = Record(trajectory, sight_of(Judge(), trajectory))
        total += 1
        suspected += bool(record.suspicions)
        signs.update(sign.partition(":")[0] for sign in record.suspicions)
        texts = [place.text.replace("\r\n", "\n") for place in record.places]
        escapes = [sum(visible(character) != character for character in text) for text in texts]
        characters += sum(map(len, texts))
        changed += sum(escapes)
        respelled += any(escapes)
        if arguments.names and record.suspicions:
            print(f"{trajectory.id}: {'; '.join(record.suspicions)}")
    print(f"{total} trajectories of {characters:,} characters")
    print(f"suspected: {suspected}" + "".join(f"\n  {sign}: {count}" for sign, count in signs.most_common()))
    share = changed / characters if characters else 0.0
    print(f"with characters that are spelled out: {respelled}; {changed:,} characters, {share:.4%} of all")


if __name__ == "__main__":
    main()
