"""What runs in the checker's sandbox: the author's API and one file per kind of check.

Standard library only when imported: every check is its own process there, and pays for what is loaded.
"""
