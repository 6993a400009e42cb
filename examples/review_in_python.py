"""Review without a browser: give verdicts, see what they make of a score, and how far judge and people agree.

python examples/review_in_python.py
"""

import shutil
import tempfile
from pathlib import Path

from rubricgrade import grade_all, load_rubric, load_trajectory
from rubricgrade.evidence import Sources, select
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.review import acting
from rubricgrade.review.desk import Desk
from rubricgrade.review.episodes import find_episodes
from rubricgrade.review.exporting import labels_file, labels_of
from rubricgrade.review.figures import figures

EXAMPLE = Path(__file__).parent / "travel-mis"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "travel-mis"
        shutil.copytree(EXAMPLE, run, ignore=shutil.ignore_patterns("grades", "reviews"))
        episodes = [load_trajectory(run / "episodes" / name) for name in ("right", "honest-but-thin")]
        judge = JudgeOptions(offline=True, verdicts=(run / "verdicts.jsonl",))
        grade_all(episodes, load_rubric(run / "rubric.yaml"), judge=judge, store=True)

        desk = Desk(run / "episodes", find_episodes(run / "episodes"))
        for item in desk.items.values():
            episode = desk.episodes[item.episode]
            # A reviewer who finds that the thin report is no one-pager either, and agrees with the judge otherwise.
            thin = item.episode == "honest-but-thin" and item.criterion == "one-page"
            verdict = "not_met" if thin else episode.results[item.criterion].verdict
            sources = Sources(select(episode.trajectory()))
            acting.decide(desk, item, "anna", verdict, why="cut off" if thin else "", sources=sources)

        for key, episode in desk.episodes.items():
            print(f"{key}: judged {episode.grade.score}, with what people say {desk.effective(episode).score}")
        pooled = figures(desk, "anna").agreement.pooled
        print(f"{pooled.compared} verdicts, {pooled.accuracy.value:.0%} equal")
        print(labels_file(labels_of(desk)).decode(), end="")


if __name__ == "__main__":
    main()
