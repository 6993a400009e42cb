def evaluate(expr):
    return eval(expr, {"__builtins__": {}}, {})
