"""NeMo Gym: a resources server whose ``/verify`` grades with a rubric, and masks what could not be graded.

class Server(rubric_server("rubric.yaml", judge="openai/gpt-5-mini")): ...

if __name__ == "__main__":
    Server.run_webserver()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards import nemo_gym
from rubricgrade.rewards.conversation import from_responses
from rubricgrade.rewards.rubrics import RubricSource


async def verify(rewarder: Rewarder, body: Mapping[str, Any]) -> dict[str, Any]:
    """What ``/verify`` answers: all of the request, and the reward.

    Args:
        rewarder: Grades.
        body: ``responses_create_params``, ``response`` and the columns of the task.

    Returns:
        ``reward`` (0 to 1; 0 when ungraded, and then ``mask_sample`` is true), ``mask_sample``, ``failure_kind``,
        ``failure_reason``, ``reward_components``.
    """
    rewarded = await rewarder.one(lambda: from_responses(dict(body)), body)
    return nemo_gym.reply(body, rewarded)


def rubric_server(rubric: RubricSource, **options: Any) -> Any:
    """A class of resources servers, to be run as it is or subclassed.

    Args:
        rubric: As in `Rewarder`; a row is the request, so a task's columns are given to the rubric's vars.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
        ModuleNotFoundError: NeMo Gym is not installed.
    """
    gym = host("nemo_gym.base_resources_server")
    rewarder = Rewarder(rubric, **options)

    class Request(gym.BaseVerifyRequest):
        model_config: ClassVar[Any] = {"extra": "allow"}

    class Response(gym.BaseVerifyResponse):
        model_config: ClassVar[Any] = {"extra": "allow"}

    class RubricServer(gym.SimpleResourcesServer):
        """Verifies by a rubric."""

        async def verify(self, body: Any) -> Any:
            return Response.model_validate(await verify(rewarder, body.model_dump()))

    # FastAPI reads these to know the shapes of the route; as text they would not be found from its module.
    RubricServer.verify.__annotations__ = {"body": Request, "return": Response}
    return RubricServer
