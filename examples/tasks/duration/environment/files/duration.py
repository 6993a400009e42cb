import re

SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(text):
    return sum(int(count) * SECONDS[unit] for count, unit in re.findall("([0-9]+)([dhms])", text))
