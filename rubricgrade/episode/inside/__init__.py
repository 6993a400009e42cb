"""What runs in sandboxes on behalf of a task: its own tools, and the check for a plain test script.

Standard library only when imported: it runs in a process of its own, which pays for what is loaded.
"""
