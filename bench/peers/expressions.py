"""Evaluates the sizes, grids and lengths of a launch description.

The language is the one of regtune's descriptions as far as the kernels here use it: integers, decimal numbers, names,
arithmetic, and ceil_div, round_up, min and max. Anything else is refused, so that no text of a file is ever run.
"""

import ast
import operator

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}

_FUNCTIONS = {
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
    "min": min,
    "max": max,
}


class BadExpression(ValueError):
    """What the text says that is no expression of this language."""


def evaluate(text, names):
    """The value of a number or of an expression over `names`."""
    if isinstance(text, (int, float)):
        return text
    try:
        # In Lua ^ is the power, which Python spells **.
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval")
    except SyntaxError as error:
        raise BadExpression(f"{text!r} is no expression: {error.msg}") from error
    return _value(tree.body, names, text)


def _value(node, names, text):
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise BadExpression(f"{text!r} uses {node.id!r}, which has no value")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names, text)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, names, text), _value(node.right, names, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*(_value(argument, names, text) for argument in node.args))
    raise BadExpression(f"{text!r} holds what is not evaluated here")


def evaluate_list(text, names):
    """The values of "a, b", of a list, or of a single one. Commas inside parentheses do not divide."""
    if not isinstance(text, str):
        return [evaluate(part, names) for part in text] if isinstance(text, list) else [evaluate(text, names)]
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [evaluate(part, names) for part in parts + [text[start:]]]
