"""Agents: a tool loop over any model, any command-line program, replays, and the two that prove a task."""
