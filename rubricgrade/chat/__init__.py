"""The one way to call a model: limits, retries, budgets and costs are here, whatever the provider.

reply = await connect(options).ask(Request("openai/gpt-5-mini", ({"role": "user", "content": "Hello"},)))
"""

from rubricgrade.chat.budget import Budget
from rubricgrade.chat.connecting import Options, connect, preload
from rubricgrade.chat.contract import AskFailed, Chat, Finish, Kind, Reply, Request, ToolCall
from rubricgrade.chat.retrying import Retry

__all__ = [
    "AskFailed",
    "Budget",
    "Chat",
    "Finish",
    "Kind",
    "Options",
    "Reply",
    "Request",
    "Retry",
    "ToolCall",
    "connect",
    "preload",
]
