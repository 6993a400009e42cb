import re

SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
DURATION = re.compile("".join(f"(?:([0-9]+){unit})?" for unit in SECONDS))


def parse_duration(text):
    match = DURATION.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(count or 0) * size for count, size in zip(match.groups(), SECONDS.values()))
