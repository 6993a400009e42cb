"""Harbor: a verifier that grades outside the agent's container, where the agent can neither read nor change anything.

harbor run -p TASK -a AGENT --verifier rubricgrade.integrations.harbor:RubricVerifier
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rubricgrade.errors import RubricgradeError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.integrations.harbor_files import harbor_trajectory, task_rubric, write_reward
from rubricgrade.integrations.hosts import host
from rubricgrade.loading import load_rubric
from rubricgrade.result import Grade

base = host("harbor.verifier.base", "harbor")
results = host("harbor.models.verifier.result", "harbor")
verifying = host("harbor.verifier.verifier", "harbor")


class RubricVerifier(base.BaseVerifier):
    """Copies the agent's files to this side and grades them with the task's ``tests/rubric.yaml``.

    Args:
        rubric: Another rubric, by its path.
        judge: The model that judges.
        workdir: Where the agent's files are in the environment; default: where its commands start.
        **given: What Harbor passes to every verifier.

    Raises:
        InputError: The model can't be asked.
    """

    def __init__(
        self, *, rubric: str | None = None, judge: str | None = None, workdir: str | None = None, **given: Any
    ) -> None:
        super().__init__(**given)  # pyright: ignore[reportUnknownMemberType] - the host has no types here
        self._rubric = rubric
        self._judges = Judges.of(judge)
        self._judges.check(None)
        self._workdir = workdir

    async def verify(self) -> Any:
        """Grade the trial.

        Returns:
            Harbor's result, with the one reward ``reward``. ``reward.json`` and ``reward-details.json`` lie in the
            trial's verifier folder.

        Raises:
            RewardFileNotFoundError: Harbor's own error for a verification without a reward: the grader failed.
        """
        try:
            graded = await self._grade()
            reward = graded.score
            write_reward(graded, self.trial_paths.verifier_dir)
        except RubricgradeError as error:
            raise verifying.RewardFileNotFoundError(f"not graded: {error}") from error
        if reward is None:
            raise verifying.RewardFileNotFoundError(f"not graded ({graded.cause}): see reward-details.json")
        return results.VerifierResult(rewards={"reward": reward})

    async def _grade(self) -> Grade:
        rubric = load_rubric(self._rubric) if self._rubric else task_rubric(self.task.paths.tests_dir)
        trajectory = harbor_trajectory(self.trial_paths.agent_dir / "trajectory.json", self.task.instruction)
        with tempfile.TemporaryDirectory() as place:
            workspace = Path(place) / "workspace"
            await self.environment.download_dir(source_dir=await self._where(), target_dir=workspace)
            return await agrade(trajectory.located(workspace=workspace), rubric, judge=self._judges)

    async def _where(self) -> str:
        if self._workdir is not None:
            return self._workdir
        said = (await self.environment.exec("pwd")).stdout or ""
        return said.strip() or "/"
