"""The stable codes of what is found in a rubric file. ``RG0..`` are errors; the others are warnings."""

from __future__ import annotations

SYNTAX = "RG001"  # can't be read as YAML
TEXT = "RG002"  # no UTF-8, a control character, too large, nested too deeply
QUOTE = "RG003"  # plain text that other readers take for a number or a date; a number that is none
EATEN = "RG004"  # text that YAML would cut off at a comment
UNSUPPORTED = "RG005"  # anchors, aliases, tags, merge keys, directives, several documents
TWICE = "RG006"  # a key that stands twice
KEY = "RG007"  # a key that is no text
NOTHING = "RG008"  # a key with nothing behind it
UNKNOWN = "RG010"  # a key that has no meaning where it stands
MISSING = "RG011"  # a key that must be there
VALUE = "RG012"  # a value of the wrong type or out of range
ID = "RG013"  # an id that is taken
RULE = "RG014"  # a rule that spans several parts: references, points, groups, vetoes, circles
PROMPT = "RG015"  # a prompt that holds more than a prompt may
FILE = "RG020"  # a file that is missing, outside, a link, no regular file, or too large
CONTENT = "RG021"  # a file that lacks the function, the cases or the columns that are asked of it
OVERRIDE = "RG030"  # a value given by a task that does not fit
UNSET = "RG031"  # a variable that the task must give
FORMAT = "RG040"  # a format that this program does not read

COMPOUND = "RG101"  # a question that is several
VAGUE = "RG102"  # a word that means something else to every judge
OWN_SCALE = "RG103"  # a scale in the wording beside the one that is asked for
LENGTH = "RG104"  # a question that rewards length
COUNTING = "RG105"  # a judge that is asked to count
NEGATION = "RG106"  # points for the absence of something
UNSEEN = "RG107"  # a question about what the judge is not shown
CODE = "RG108"  # a question that code decides for certain
BARE_SCALE = "RG109"  # a scale whose steps are only words
HEDGED = "RG110"  # a question that leaves open what it asks for
UNTWINNED = "RG201"  # tests of a sealed suite that tampering code could pass
RUNS_AGENT = "RG202"  # author's code that seems to run what the agent left
NETWORK = "RG203"  # a command that needs a network, where there is none
SHARED = "RG204"  # tests of a sealed suite that share a process
FAILS = "RG205"  # a line of a check that fails whenever it is reached
IN_PART = "RG206"  # tests of a sealed suite of which tampering code could pass some assertions
SHARE = "RG301"  # one criterion worth more than two fifths of the points
ESCAPE = "RG302"  # a penalty that falls away when something else is missed
UNREACHABLE = "RG303"  # a group that can never be fully met
PENALTIES = "RG304"  # penalties above what can be earned
UNGATED = "RG305"  # idleness that only a judge stands against
UNTESTED = "RG401"  # a rubric with judged criteria and no example
NEVER_MISSED = "RG402"  # examples that never miss a criterion
NEVER_MET = "RG403"  # examples that never meet it
AMBIGUOUS = "RG901"  # a question that two careful readers can answer differently, as a model sees it
SEVERAL = "RG902"  # a question that is several, as a model sees it
CIRCULAR = "RG903"  # a question that says "is good" in other words, as a model sees it
OVERLAP = "RG904"  # two criteria that count the same thing, as a model sees it


def warnings() -> frozenset[str]:
    """Every code that names no error."""
    return frozenset(
        value for name, value in globals().items() if name.isupper() and str(value).startswith("RG") and value[2] != "0"
    )
