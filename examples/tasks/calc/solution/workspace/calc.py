"""Arithmetic with Python's rules: precedence climbing over a list of tokens."""

import operator
import re

DIGITS = r"\d+(?:_\d+)*"
TOKEN = re.compile(
    rf"\s*(?P<number>(?:{DIGITS}(?:\.(?:{DIGITS})?)?|\.{DIGITS})(?:[eE][+-]?{DIGITS})?)"
    r"|\s*(?P<symbol>\*\*|//|[-+*/%()])"
)
BINARY = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, operator.floordiv),
    "%": (2, operator.mod),
    "**": (4, operator.pow),
}
UNARY = 3


def evaluate(expr):
    tokens = _tokens(expr)
    value = _expression(tokens, 0)
    if tokens:
        raise SyntaxError(f"unexpected {tokens[0]!r}")
    return value


def _tokens(expr):
    tokens, position, end = [], 0, len(expr.rstrip())
    while position < end:
        match = TOKEN.match(expr, position)
        if not match:
            raise SyntaxError(f"unexpected character {expr[position]!r}")
        number = match["number"]
        if number is None:
            tokens.append(match["symbol"])
        else:
            tokens.append(float(number) if re.search(r"[.eE]", number) else int(number))
        position = match.end()
    return tokens


def _expression(tokens, least):
    left = _operand(tokens)
    while tokens and tokens[0] in BINARY and BINARY[tokens[0]][0] >= least:
        symbol = tokens.pop(0)
        level, function = BINARY[symbol]
        # ** groups to the right, and what follows it may carry a sign.
        right = _expression(tokens, UNARY if symbol == "**" else level + 1)
        left = function(left, right)
    return left


def _operand(tokens):
    if not tokens:
        raise SyntaxError("unexpected end")
    token = tokens.pop(0)
    if token == "(":
        value = _expression(tokens, 0)
        if not tokens or tokens.pop(0) != ")":
            raise SyntaxError("missing )")
        return value
    if token in ("+", "-"):
        value = _expression(tokens, UNARY)
        return -value if token == "-" else +value
    if isinstance(token, str):
        raise SyntaxError(f"unexpected {token!r}")
    return token
