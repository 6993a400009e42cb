"""The first process of a bubblewrap sandbox, run inside it by the bare interpreter (``-I -S -B``).

Its modules import each other and what is built in or one shared object away, and nothing else: every millisecond of
theirs is part of every fork. They are not for import on the host.
"""
