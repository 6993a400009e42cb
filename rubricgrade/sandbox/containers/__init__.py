"""Sandboxes in containers, by the command line of docker or podman, which must run on this machine."""

from rubricgrade.sandbox.containers.engine import Engine
from rubricgrade.sandbox.containers.provider import ContainerProvider

__all__ = ["ContainerProvider", "Engine"]
