import re

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(\*\*|//|[-+*/%()]))")


def tokenize(expr):
    tokens, position = [], 0
    expr = expr.rstrip()
    while position < len(expr):
        match = TOKEN.match(expr, position)
        if match is None:
            raise ValueError(f"unexpected character at {position}: {expr[position]!r}")
        number, operator = match.groups()
        if number is None:
            tokens.append(operator)
        else:
            tokens.append(int(number) if number.isdigit() else float(number))
        position = match.end()
    return tokens


class Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.position = 0

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self):
        token = self.peek()
        self.position += 1
        return token

    def sum(self):
        left = self.product()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                left = left + self.product()
            else:
                left = left - self.product()
        return left

    def product(self):
        left = self.unary()
        while self.peek() in ("*", "/", "//", "%"):
            operator = self.take()
            right = self.unary()
            if operator == "*":
                left = left * right
            elif operator == "/":
                left = left / right
            elif operator == "//":
                left = left // right
            else:
                left = left % right
        return left

    def unary(self):
        if self.peek() == "-":
            self.take()
            return -self.unary()
        if self.peek() == "+":
            self.take()
            return +self.unary()
        return self.power()

    def power(self):
        base = self.atom()
        if self.peek() == "**":
            self.take()
            return base ** self.unary()
        return base

    def atom(self):
        token = self.take()
        if token == "(":
            value = self.sum()
            if self.take() != ")":
                raise ValueError("missing )")
            return value
        if isinstance(token, (int, float)):
            return token
        raise ValueError(f"unexpected {token!r}")


def evaluate(expr):
    parser = Parser(tokenize(expr))
    value = parser.sum()
    if parser.peek() is not None:
        raise ValueError(f"unexpected {parser.peek()!r}")
    return value
