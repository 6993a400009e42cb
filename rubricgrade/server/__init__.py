"""The reward server: episodes come in over HTTP, grades or a host's own rewards go out (extra `server`).

    rubricgrade serve --rubric mis=rubrics/mis --judge openai/gpt-5-mini

What it takes, it answers: with a grade, or with an ungraded one that says why. What it can't take it refuses at once.
"""
