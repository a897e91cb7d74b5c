"""The gym's small expression language, translated to the language of attnc.

Its syntax is Python's, so Python reads it; what is left is to print the tree again with the other
spelling. `free` are the names it needs from outside, in the order of first use."""
import ast

from program import Skip, number

# How tightly operators bind, loosest first: as in attnc's grammar.
ELSE, OR, AND, NOT, COMPARE, SUM, TERM, UNARY, POWER, ATOM = range(10)

BINARY = {ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", TERM), ast.Div: ("/", TERM),
          ast.FloorDiv: ("//", TERM), ast.Mod: ("%", TERM), ast.Pow: ("^", POWER)}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
               ast.NotEq: "!="}
# Functions of the same meaning: our name of theirs.
FUNCTIONS = {**{f: f for f in ("abs", "min", "max", "clamp", "exp", "exp2", "log", "tanh", "cos",
                               "sin", "sqrt", "relu", "sigmoid", "erf", "floor", "ceil", "round",
                               "sign")},
             "band": "bitand", "gelu": "gelu", "softplus": "softplus"}
LIBRARY = {"gelu": "std/nn.attn", "softplus": "std/nn.attn"}  # those that are not built in
CONSTANTS = {"inf": "inf", "nan": "nan", "true": "0 == 0", "false": "0 == 1"}


class Translation:
    """`text`, the names it reads, and the modules it needs."""

    def __init__(self, source):
        self.bound = []
        self.free = []
        self.modules = []
        try:
            tree = ast.parse(source, mode="eval").body
        except SyntaxError as e:
            raise Skip(f"cannot read the expression {source!r}: {e.msg}") from None
        self.text = self.show(tree, ELSE)

    def show(self, e, level):
        """e as text; in parentheses where it binds less tightly than `level`."""
        method = getattr(self, "show_" + type(e).__name__, None)
        if method is None:
            raise Skip(f"no translation of {ast.unparse(e)!r}")
        text, own = method(e)
        return f"({text})" if own < level else text

    def show_Constant(self, e):
        if isinstance(e.value, bool) or not isinstance(e.value, (int, float)):
            raise Skip(f"no translation of {e.value!r}")
        return (str(e.value) if isinstance(e.value, int) else number(e.value)), ATOM

    def show_Name(self, e):
        if e.id in CONSTANTS:
            return CONSTANTS[e.id], COMPARE if "==" in CONSTANTS[e.id] else ATOM
        if e.id not in self.bound and e.id not in self.free:
            self.free.append(e.id)
        return e.id, ATOM

    def show_BinOp(self, e):
        if type(e.op) not in BINARY:
            raise Skip(f"no translation of {ast.unparse(e)!r}")
        sign, level = BINARY[type(e.op)]
        left, right = (level + 1, level) if sign == "^" else (level, level + 1)
        space = "" if sign == "^" else " "
        return f"{self.show(e.left, left)}{space}{sign}{space}{self.show(e.right, right)}", level

    def show_UnaryOp(self, e):
        if isinstance(e.op, ast.Not):
            return f"not {self.show(e.operand, NOT)}", NOT
        if isinstance(e.op, ast.USub):
            return f"-{self.show(e.operand, UNARY)}", UNARY
        raise Skip(f"no translation of {ast.unparse(e)!r}")

    def show_BoolOp(self, e):
        word, level = ("and", AND) if isinstance(e.op, ast.And) else ("or", OR)
        return f" {word} ".join(self.show(v, level + 1) for v in e.values), level

    def show_Compare(self, e):
        text = self.show(e.left, SUM)
        for op, right in zip(e.ops, e.comparators):
            if type(op) not in COMPARISONS:
                raise Skip(f"no translation of {ast.unparse(e)!r}")
            text += f" {COMPARISONS[type(op)]} {self.show(right, SUM)}"
        return text, COMPARE

    def show_Subscript(self, e):
        parts = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        table = self.show(e.value, ATOM)
        return f"{table}[{', '.join(self.show(p, SUM) for p in parts)}]", ATOM

    def show_Call(self, e):
        name = e.func.id
        if name == "where":
            c, x, y = e.args
            return f"{self.show(x, OR)} where {self.show(c, OR)} else {self.show(y, OR)}", ELSE
        if name in ("sum", "any"):  # sum(n, N, e): over n = 0 .. N-1
            n, size, body = e.args
            last = ast.BinOp(size, ast.Sub(), ast.Constant(1))
            if isinstance(size, ast.Constant):
                last = ast.Constant(size.value - 1)
            limit = self.show(last, SUM)
            self.bound.append(n.id)
            text = f"{name}[{n.id} in 0..{limit}]({self.show(body, ELSE)})"
            self.bound.pop()
            return text, ATOM
        if name not in FUNCTIONS:
            raise Skip(f"no translation of the function {name}")
        if name in LIBRARY and LIBRARY[name] not in self.modules:
            self.modules.append(LIBRARY[name])
        return f"{FUNCTIONS[name]}({', '.join(self.show(a, ELSE) for a in e.args)})", ATOM
