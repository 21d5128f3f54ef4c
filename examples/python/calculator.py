"""An arithmetic language with its own tokenizer and parser, checked against Python's own ast, with a unit test."""

import ast
import io
import math
import operator
import re
import unittest
from typing import NamedTuple

TOKENS = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|//|<=|>=|==|!=|[-+*/%(),=<>?:]))"
)
BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
          "%": operator.mod, "**": operator.pow, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
          "==": operator.eq, "!=": operator.ne}  # fmt: skip
LEVELS = [("<", ">", "<=", ">=", "==", "!="), ("+", "-"), ("*", "/", "//", "%")]
FUNCTIONS = {"sqrt": math.sqrt, "max": max, "min": min, "abs": abs, "round": round, "hypot": math.hypot}


class Token(NamedTuple):
    kind: str
    text: str
    at: int


class CalcError(Exception):
    pass


def tokenize(source):
    position = 0
    source = source.rstrip()
    while position < len(source):
        m = TOKENS.match(source, position)
        if not m:
            raise CalcError(f"column {position + 1}: unexpected {source[position:].lstrip()[0]!r}")
        yield Token(m.lastgroup, m[m.lastgroup], m.start(m.lastgroup))
        position = m.end()
    yield Token("end", "end of line", len(source))


class Parser:
    """Recursive descent; evaluates while it parses."""

    def __init__(self, source, names):
        self.tokens, self.names, self.index = list(tokenize(source)), names, 0

    @property
    def token(self):
        return self.tokens[self.index]

    def take(self, *texts):
        if self.token.kind == "op" and self.token.text in texts:
            self.index += 1
            return self.tokens[self.index - 1].text

    def expect(self, text):
        if not self.take(text):
            raise CalcError(f"column {self.token.at + 1}: expected {text!r}, not {self.token.text!r}")

    def statement(self):
        if self.token.kind == "name" and self.tokens[self.index + 1].text == "=":
            name = self.token.text
            self.index += 2
            value = self.names[name] = self.binary(0)
        else:
            value = self.binary(0)
        if self.token.kind != "end":
            raise CalcError(f"column {self.token.at + 1}: unexpected {self.token.text!r}")
        return value

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while op := self.take(*LEVELS[level]):
            try:
                value = BINARY[op](value, self.binary(level + 1))
            except ZeroDivisionError as err:
                raise CalcError("division by zero") from err
        return value

    def unary(self):
        if self.take("-"):
            return -self.unary()
        value = self.atom()
        return value ** self.unary() if self.take("**") else value

    def atom(self):
        token = self.token
        self.index += 1
        if token.kind == "number":
            return float(token.text) if re.search(r"[.eE]", token.text) else int(token.text)
        if token.text == "(":
            value = self.binary(0)
            self.expect(")")
            return value
        if token.kind == "name" and self.take("("):
            arguments = [] if self.token.text == ")" else [self.binary(0)]
            while self.take(","):
                arguments.append(self.binary(0))
            self.expect(")")
            return FUNCTIONS[token.text](*arguments)
        if token.kind == "name" and token.text in self.names:
            return self.names[token.text]
        raise CalcError(f"column {token.at + 1}: {'unknown name' if token.kind == 'name' else 'unexpected'} {token.text!r}")


def by_ast(source):
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop, ast.Compare, ast.cmpop)
    tree = ast.parse(source, mode="eval")
    assert all(isinstance(node, allowed) for node in ast.walk(tree)), ast.dump(tree)
    return eval(compile(tree, "<calc>", "eval"))


class CalculatorTest(unittest.TestCase):
    def test_agrees_with_python(self):
        for source in ("1+2*3", "-2**2", "2**3**2", "7//2%2", "(1+2)*-3", "10/4-.5", "1e3>999", "2*(3+(4-1))//5", "--3", "2**-1"):
            with self.subTest(source):
                self.assertEqual(Parser(source, {}).statement(), by_ast(source))

    def test_errors(self):
        for source in ("1+", "(2", "2 3", "$", "x", "1/0", "max(1,"):
            with self.subTest(source), self.assertRaises(CalcError):
                Parser(source, {}).statement()

    def test_deep(self):
        depth = 60
        self.assertEqual(Parser("(" * depth + "1" + ")" * depth, {}).statement(), 1)

    @unittest.expectedFailure
    def test_known_gap(self):
        self.assertEqual(Parser("1 if 2 else 3", {}).statement(), 1)


def main():
    names = {"pi": math.pi}
    for line in ("radius = 2.5", "area = pi * radius ** 2", "round(area, 3)", "width = hypot(3, 4) // 1", "max(width, area) > 19",
                 "2 ** 100 % 1000007", "area / (radius - 2.5)", "3 + * 4", "speed", "sqrt(2) + @"):  # fmt: skip
        try:
            value = Parser(line, names).statement()
            print(f"{line:<28} {value:.10g}" if isinstance(value, float) else f"{line:<28} {value}")
        except CalcError as err:
            print(f"{line:<28} error, {err}")
    print(ast.unparse(ast.parse("x=[i**2 for i in range(10)if i%2]")))
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(CalculatorTest)
    stream = io.StringIO()
    result = unittest.TextTestRunner(stream, verbosity=2).run(suite)
    print(re.sub(r"in \d+\.\d+s", "in no time", stream.getvalue()), end="")
    print("successful:", result.wasSuccessful())


if __name__ == "__main__":
    main()
