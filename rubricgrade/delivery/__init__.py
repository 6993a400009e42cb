"""What a vendor ships: tasks that were proven, a held-out split without near twins across it, and a report to believe.

A delivery is a folder: ``tasks/`` (whole), ``heldout/`` (what an agent may see, and the rest sealed), ``groups.jsonl``,
``report.json`` with ``report.md`` and charts, ``README.md``, and ``manifest.json`` with the hash of every file.
"""
