"""One episode: a task, an agent that acts on it in a fork of its template, and the grade of what it left.

Docstring only: the tools of a task import a module of this package in a process of their own, which pays for it.
"""
