"""program_eval.py: .attn programs as Python objects, with their text and their meaning.

The meaning is computed the slow and plain way, one element at a time and on demand, from the
definition of the language: nothing is shared with the compiler. Only what program_gen.py writes is
covered. A value is a number, a bool, a list (a vector that is present or absent as one) or None
(absent)."""
import math
import sys

sys.setrecursionlimit(20000)


class OutOfRange(Exception):
    """A read outside its tensor, without `else` at hand."""


class TooMuch(Exception):
    """The program needs more steps than a test should."""


class Weight(float):
    """A normaliser's weight: exactly 0 contributes nothing to what it multiplies."""


class Env:
    __slots__ = ("inst", "idx", "ok")

    def __init__(self, inst, idx=None, ok=False):
        self.inst, self.idx, self.ok = inst, idx or {}, ok

    def bind(self, name, value, lo, hi):
        idx = dict(self.idx)
        idx[name] = (value, lo, hi)
        return Env(self.inst, idx, self.ok)


def lift(f, *args):
    """f on numbers, spread over vectors; absent where an operand is."""
    if any(a is None for a in args):
        return None
    n = [len(a) for a in args if isinstance(a, list)]
    if not n:
        return f(*args)
    return [lift(f, *[a[i] if isinstance(a, list) else a for a in args]) for i in range(n[0])]


def mul(a, b):
    wa, wb = isinstance(a, Weight), isinstance(b, Weight)
    if wa != wb:
        w, o = (a, b) if wa else (b, a)
        return Weight(0.0) if w == 0 else Weight(float(w) * o)
    r = a * b
    return Weight(r) if wa else r


def div(a, b):
    a, w = float(a), isinstance(a, Weight)
    if b == 0:
        r = math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    else:
        r = a / b
    return Weight(r) if w else r


def real1(f):
    def g(x):
        try:
            return f(float(x))
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf
    return g


def maximum(a, b):
    return math.nan if a != a or b != b else max(a, b)


def minimum(a, b):
    return math.nan if a != a or b != b else min(a, b)


UNARY = {
    "tanh": real1(math.tanh), "exp": real1(math.exp), "sin": real1(math.sin),
    "cos": real1(math.cos), "abs": abs, "erf": real1(math.erf),
    "sqrt": real1(lambda x: math.sqrt(x)), "log1p": real1(math.log1p),
    "sigmoid": real1(lambda x: 1 / (1 + math.exp(-x))), "relu": lambda x: maximum(x, type(x)(0)),
    "floor": lambda x: math.floor(x), "sign": lambda x: x if x != x else type(x)((x > 0) - (x < 0)),
}
BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": mul, "/": div,
          "//": lambda a, b: a // b, "%": lambda a, b: a % b}
COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b,
           "!=": lambda a, b: a != b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


class Node:
    kids = ()

    def evaluate(self, e):
        e.inst.run.step()
        return self.value(e)


class Num(Node):
    def __init__(self, v):
        self.v = v

    def text(self):
        return str(self.v) if self.v >= 0 else "(%s)" % self.v

    def value(self, e):
        return self.v


class Idx(Node):
    def __init__(self, name):
        self.name = name

    def text(self):
        return self.name

    def value(self, e):
        return e.idx[self.name][0]


class Dim(Idx):
    def value(self, e):
        return e.inst.dims[self.name]


class Read(Node):
    """name[items]; as many items as axes give a number, one less a vector."""

    def __init__(self, name, items, rank):
        self.name, self.kids, self.rank = name, list(items), rank

    def text(self):
        if not self.kids:
            return self.name
        return "%s[%s]" % (self.name, ", ".join(k.text() for k in self.kids))

    def value(self, e):
        at = [k.evaluate(e) for k in self.kids]
        if any(a is None for a in at):
            return None
        try:
            return e.inst.tensor(self.name).read(at)
        except OutOfRange:
            if e.ok and not e.inst.tensor(self.name).covers(at):
                return None
            raise


class Un(Node):
    def __init__(self, op, a):
        self.op, self.kids = op, [a]

    def text(self):
        a = self.kids[0].text()
        return "(-%s)" % a if self.op == "-" else "(not %s)" % a if self.op == "not" \
            else "%s(%s)" % (self.op, a)

    def value(self, e):
        a = self.kids[0].evaluate(e)
        if self.op == "-":
            return lift(lambda x: -x, a)
        if self.op == "not":
            return lift(lambda x: not x, a)
        return lift(UNARY[self.op], a)


class Bin(Node):
    def __init__(self, op, a, b):
        self.op, self.kids = op, [a, b]

    def text(self):
        return "(%s %s %s)" % (self.kids[0].text(), self.op, self.kids[1].text())

    def value(self, e):
        a, b = self.kids[0].evaluate(e), None
        if self.op in ("and", "or"):
            if self.op == "and" and not a:
                return False
            if self.op == "or" and a:
                return True
            return bool(self.kids[1].evaluate(e))
        if a is None:
            return None
        b = self.kids[1].evaluate(e)
        return lift(BINARY.get(self.op) or COMPARE[self.op], a, b)


class Extreme(Node):
    """max(a, b), min(a, b)."""

    def __init__(self, op, a, b):
        self.op, self.kids = op, [a, b]

    def text(self):
        return "%s(%s, %s)" % (self.op, self.kids[0].text(), self.kids[1].text())

    def value(self, e):
        return lift(maximum if self.op == "max" else minimum, self.kids[0].evaluate(e),
                    self.kids[1].evaluate(e))


class Where(Node):
    def __init__(self, a, c):
        self.kids = [a, c]

    def text(self):
        return "(%s)" % self.bare()

    def bare(self):
        return "%s where %s" % (self.kids[0].text(), self.kids[1].text())

    def value(self, e, part=None):
        if not self.kids[1].evaluate(e):
            return None
        return component(self.kids[0], e, part)


class Else(Node):
    def __init__(self, a, b):
        self.kids = [a, b]

    def text(self):
        return "(%s)" % self.bare()

    def bare(self):
        a = self.kids[0]
        return "%s else %s" % (a.bare() if isinstance(a, Where) else a.text(), self.kids[1].text())

    def value(self, e, part=None):
        v = component(self.kids[0], Env(e.inst, e.idx, True), part)
        if v is not None:
            return v if isinstance(v, (Weight, list)) or not isinstance(v, float) else float(v)
        return component(self.kids[1], e, part)


class Tuple(Node):
    def __init__(self, parts):
        self.kids = list(parts)

    def text(self):
        return "(%s)" % ", ".join(k.text() for k in self.kids)


def component(node, e, part):
    """Of an expression with several results, number `part`."""
    if part is None:
        return node.evaluate(e)
    if isinstance(node, (Where, Else, Call)):
        return node.value(e, part)
    if isinstance(node, Tuple):
        return node.kids[part].evaluate(e)
    return node.evaluate(e)


class Join(Node):
    def __init__(self, parts):
        self.kids = list(parts)

    def text(self):
        return "[%s]" % "; ".join(k.text() for k in self.kids)

    def value(self, e):
        out = []
        for k in self.kids:
            v = k.evaluate(e)
            if v is None:
                return None
            out += v if isinstance(v, list) else [v]
        return out


class Dot(Node):
    def __init__(self, a, b):
        self.kids = [a, b]

    def text(self):
        return "dot(%s, %s)" % (self.kids[0].text(), self.kids[1].text())

    def value(self, e):
        a, b = self.kids[0].evaluate(e), self.kids[1].evaluate(e)
        if a is None or b is None:
            return None
        return math.fsum(x * y for x, y in zip(a, b)) if all(
            math.isfinite(v) for v in a + b) else sum(x * y for x, y in zip(a, b))


class MatVec(Node):
    """W[items] @ v, where W has two axes left."""

    def __init__(self, name, items, v):
        self.name, self.n, self.kids = name, len(items), list(items) + [v]

    def text(self):
        at = ", ".join(k.text() for k in self.kids[:-1])
        return "(%s%s @ %s)" % (self.name, "[%s]" % at if at else "", self.kids[-1].text())

    def value(self, e):
        at = [k.evaluate(e) for k in self.kids[:-1]]
        v = self.kids[-1].evaluate(e)
        if v is None:
            return None
        t = e.inst.tensor(self.name)
        rows = t.shape(e.inst)[len(at)]
        return [sum((x * y for x, y in zip(t.read(at + [r]), v)), 0.0) for r in range(rows)]


class Binder:
    """How an index is bound: its name, its range, the text of both."""

    def __init__(self, name, dim=None, lo=None, hi=None, form="bare"):
        self.name, self.dim, self.lo, self.hi, self.form = name, dim, lo, hi, form

    def text(self):
        if self.form == "bare":
            return self.name
        if self.form == "in":
            return "%s in %s" % (self.name, self.dim)
        return "%s in %s..%s" % (self.name, self.lo.text(), self.hi.text())

    def range(self, e):
        if self.form == "range":
            return self.lo.evaluate(e), self.hi.evaluate(e)
        return 0, e.inst.dims[self.dim] - 1


class Red(Node):
    def __init__(self, op, binders, cond, style, body):
        self.op, self.binders, self.style = op, binders, style
        self.kids = [body] + ([cond] if cond else [])

    def text(self):
        cond = self.kids[1].text() if len(self.kids) > 1 else None
        items = [b.text() for b in self.binders]
        if self.style == "item":  # the comparison binds
            items[0] = cond.strip("()") if cond.count("(") == 1 else cond
            cond = None
        return "%s[%s%s](%s)" % (self.op, ", ".join(items), " where " + cond if cond else "",
                                 self.kids[0].text())

    def each(self, e, k=0):
        if k == len(self.binders):
            if len(self.kids) < 2 or self.kids[1].evaluate(e):
                v = self.kids[0].evaluate(e)
                if v is not None:
                    yield e, v
            return
        lo, hi = self.binders[k].range(e)
        for i in range(lo, hi + 1):
            yield from self.each(e.bind(self.binders[k].name, i, lo, hi), k + 1)

    def value(self, e):
        got = list(self.each(e))
        v = [x for _, x in got]
        if v and isinstance(v[0], list) or self.op == "sum" and getattr(self, "vec", None):
            n = e.inst.dims[self.vec]
            return [self.fold([x[i] for x in v], None) for i in range(n)]
        return self.fold(v, [x.idx[self.binders[0].name][0] for x, _ in got])

    def fold(self, v, at):
        op = self.op
        if op in ("sum", "count"):
            return sum(v)
        if op == "prod":
            return math.prod(v)
        if op == "any":
            return any(v)
        if op == "all":
            return all(v)
        if op == "logsumexp":
            v = [float(x) for x in v]
            m = max(v, default=-math.inf)
            if any(x != x for x in v):
                return math.nan
            return m if math.isinf(m) else m + math.log(sum(math.exp(x - m) for x in v))
        if not v:
            return None
        if op == "mean":
            return float(sum(v)) / len(v)
        if op in ("max", "min"):
            f = maximum if op == "max" else minimum
            r = v[0]
            for x in v[1:]:
                r = f(r, x)
            return r
        best = (max if op == "argmax" else min)(v)
        return at[v.index(best)]


class Norm(Node):
    def __init__(self, op, name, cond, style, body):
        self.op, self.name, self.style = op, name, style
        self.kids = [body] + ([cond] if cond else [])

    def text(self):
        cond = self.kids[1].text() if len(self.kids) > 1 else None
        inner = self.name if not cond else cond if self.style == "item" else \
            "%s where %s" % (self.name, cond)
        return "%s[%s](%s)" % (self.op, inner, self.kids[0].text())

    def value(self, e):
        here, lo, hi = e.idx[self.name]
        row = {}
        for i in range(lo, hi + 1):
            x = e.bind(self.name, i, lo, hi)
            if len(self.kids) < 2 or self.kids[1].evaluate(x):
                v = self.kids[0].evaluate(x)
                if v is not None:
                    row[i] = float(v)
        if here not in row:
            return None
        if any(x != x for x in row.values()):
            return Weight(math.nan)
        if row[here] == -math.inf:  # counts as excluded
            return Weight(0.0)
        row = {i: x for i, x in row.items() if x != -math.inf}
        v = list(row.values())
        if self.op == "normalize":
            s = sum(v)
            return Weight(row[here] / s if s else 0.0)
        m = max(v)
        if self.op == "hardmax":
            return Weight(1.0 if here == min(i for i in row if row[i] == m) else 0.0)
        return Weight(math.exp(row[here] - m) / sum(math.exp(x - m) for x in v))


class Own(Node):
    """A function of the program's over an index: a reducer, or a normaliser (over its name)."""

    def __init__(self, fn, binder, cond, body, normal):
        self.fn, self.binder, self.normal = fn, binder, normal
        self.kids = [body] + ([cond] if cond else [])

    def text(self):
        c = " where " + self.kids[1].text() if len(self.kids) > 1 else ""
        return "%s[%s%s](%s)" % (self.fn, self.binder.name if self.normal else self.binder.text(),
                                 c, self.kids[0].text())

    def value(self, e):
        lo, hi = e.idx[self.binder.name][1:] if self.normal else self.binder.range(e)
        row = []
        for i in range(lo, hi + 1):
            x = e.bind(self.binder.name, i, lo, hi)
            on = len(self.kids) < 2 or self.kids[1].evaluate(x)
            row.append(self.kids[0].evaluate(x) if on else None)
        t = Inst(e.inst.run, e.inst.run.functions[self.fn], e.inst, [Given(row, 1, True)], "{}")
        return t.result(0, [e.idx[self.binder.name][0] - lo] if self.normal else [])


class Call(Node):
    def __init__(self, fn, args, part=None, which=None, names=None):
        self.fn, self.part, self.names = fn, part, names or [None] * len(args)
        self.n, self.kids = len(args), list(args) + ([which] if which else [])

    def text(self):
        f = self.part or self.fn
        if len(self.kids) > self.n:
            f += "[%s]" % self.kids[-1].text()
        return "%s(%s)" % (f, ", ".join(
            (n + " = " if n else "") + k.text() for n, k in zip(self.names, self.kids)))

    def value(self, e, part=None):
        run = e.inst.run
        f = run.functions[self.fn]
        vals = [k.evaluate(e) for k in self.kids[:self.n]]
        pattern = "{}"
        if self.part:
            pattern = e.inst.fn.parts[self.part]
            if len(self.kids) > self.n:
                pattern = pattern.replace("{l}", str(self.kids[-1].evaluate(e)))
        pattern = e.inst.pattern.replace("{}", pattern) if self.part else e.inst.pattern
        extra = [isinstance(v, list) and not fm.axes for v, fm in zip(vals, f.formals)]
        if any(extra):  # a function of numbers on vectors
            n = [len(v) for v, x in zip(vals, extra) if x][0]
            return [self.once(e, f, [v[i] if x else v for v, x in zip(vals, extra)], pattern, part)
                    for i in range(n)]
        return self.once(e, f, vals, pattern, part)

    def once(self, e, f, vals, pattern, part):
        given = [Given(v, len(fm.axes), False) for v, fm in zip(vals, f.formals)]
        t = Inst(e.inst.run, f, e.inst, given, pattern)
        return t.result(part or 0, [])


# --- tensors


class Given:
    """From outside: nested lists; a vector that is absent as a whole is None."""

    def __init__(self, data, rank, ragged):
        self.data, self.rank, self.ragged = data, rank, ragged

    def shape(self, inst):
        out, d = [], self.data
        while isinstance(d, list):
            out.append(len(d))
            d = d[0] if d else None
        return out

    def covers(self, at):
        try:
            self.read(at)
        except OutOfRange:
            return False
        return True

    def read(self, at):
        d = self.data
        for i in at:
            if d is None:
                return None
            if not isinstance(d, list) or i < 0 or i >= len(d):
                raise OutOfRange(at)
            d = d[i]
        return d


class Packed(Given):
    """One axis of `sizes` in memory, read with an index for each."""

    def __init__(self, flat, sizes):
        def cut(rows, k):
            if k == len(sizes):
                return rows[0]
            n = len(rows) // sizes[k] if sizes[k] else 0
            return [cut(rows[i * n:(i + 1) * n], k + 1) for i in range(sizes[k])]
        super().__init__(cut(flat, 0), len(sizes), False)


class Left:
    """An item of a left side: a free index with its range and offset, or a constant."""

    def __init__(self, name=None, dim=None, shown=False, offset=None, at=None, lo=None, hi=None):
        self.name, self.dim, self.shown, self.offset, self.at = name, dim, shown, offset, at
        self.lo, self.hi = lo, hi

    def text(self):
        if self.name is None:
            return self.at.text().strip("()")
        if self.lo is not None:
            return "%s in %s..%s" % (self.name, self.lo.text().strip("()"),
                                     self.hi.text().strip("()"))
        if self.offset is not None:
            return "%s + %s" % ((self.name, self.offset.text()) if isinstance(self.offset, Num)
                                else (self.offset.text(), self.name))
        return "%s in %s" % (self.name, self.dim) if self.shown else self.name

    def bounds(self, e):
        if self.name is None:
            c = self.at.evaluate(e)
            return c, c, 0
        if self.lo is not None:
            return self.lo.evaluate(e), self.hi.evaluate(e), 0
        return 0, e.inst.dims[self.dim] - 1, self.offset.evaluate(e) if self.offset else 0


class Equation:
    """targets = right side. Each target: (name, [Left], vec) - vec: the axis left over, or None."""

    def __init__(self, targets, rhs, note=None, split=None):
        self.targets, self.rhs, self.note, self.split = targets, rhs, note, split

    def text(self):
        left = ["%s[%s]" % (t[0], ", ".join(i.text() for i in t[1])) if t[1] else t[0]
                for t in self.targets]
        rhs = self.rhs
        tuple_left = len(left) > 1 and isinstance(rhs, (Where, Else))
        text = rhs.bare() if isinstance(rhs, (Where, Else)) else rhs.text()
        if self.split:
            return "[%s] = %s" % ("; ".join(left), text)
        return "%s = %s" % ("(%s)" % ", ".join(left) if tuple_left else ", ".join(left), text)


class Defined:
    def __init__(self, inst, name):
        self.inst, self.name, self.memo = inst, name, {}
        self.pieces = []
        for q in inst.fn.body:
            for k, t in enumerate(q.targets):
                if t[0] == name:
                    self.pieces.append((q, k, t))
        self.vec = self.pieces[0][2][2] if self.pieces else None

    def find(self, at):
        e = Env(self.inst)
        for q, k, t in self.pieces:
            idx, ok = {}, len(t[1]) <= len(at)
            for item, i in zip(t[1], at):
                lo, hi, off = item.bounds(e)
                if not lo <= i - off <= hi:
                    ok = False
                    break
                if item.name:
                    idx[item.name] = (i - off, lo, hi)
            if ok:
                return q, k, t, idx
        return None

    def covers(self, at):
        f = self.find(at)
        return f is not None and (len(at) == len(f[2][1]) or
                                  0 <= at[-1] < self.inst.dims[self.vec])

    def shape(self, inst):
        raise TooMuch("shape of a local")

    def read(self, at):
        f = self.find(at)
        if f is None:
            t = self.pieces[0][2]
            if len(at) + 1 == len(t[1]) and t[2] is None and t[1][-1].dim:
                return [self.read(at + [i]) for i in range(self.inst.dims[t[1][-1].dim])]
            raise OutOfRange((self.name, at))
        q, k, t, idx = f
        key = tuple(at[:len(t[1])])
        if key not in self.memo:
            e = Env(self.inst, idx)
            if q.split:
                v = q.rhs.evaluate(e)
                start = sum(self.inst.dims[x] for x in q.split[:k])
                self.memo[key] = v and v[start:start + self.inst.dims[q.split[k]]]
            else:
                self.memo[key] = component(q.rhs, e, k if len(q.targets) > 1 else None)
            if isinstance(self.memo[key], list) and q.split and not v:
                self.memo[key] = []
        v = self.memo[key]
        if isinstance(self.vec, tuple):
            return Given(v, 0, False).read(at[len(t[1]):])
        if len(at) == len(t[1]):
            if self.vec and v is not None and not isinstance(v, list):  # h[-1] = 0
                v = [v] * self.inst.dims[self.vec]
            return v
        i = at[-1]
        if not 0 <= i < self.inst.dims[self.vec]:
            raise OutOfRange((self.name, at))
        return v[i] if isinstance(v, list) else v


class Formal:
    def __init__(self, name, axes, scalar="real", default=None):
        self.name, self.axes, self.scalar, self.default = name, axes, scalar, default

    def text(self):
        axes = ", ".join(a if isinstance(a, str) else "(%s)" % ", ".join(a) for a in self.axes)
        t = "[%s]" % axes if self.axes else ""
        t = {"real": t or "real", "int": "int" + t, "bool": "bool" + t}[self.scalar]
        return "%s: %s%s" % (self.name, t, " = " + self.default if self.default else "")


class Function:
    def __init__(self, kind, name, formals, results, body, params=(), parts=None, lines=()):
        self.kind, self.name, self.formals, self.results = kind, name, formals, results
        self.body, self.params, self.lines = list(body), list(params), list(lines)
        self.parts = parts or {}

    def text(self):
        out = ["%s %s(%s)" % (self.kind, self.name, ", ".join(f.text() for f in self.formals))]
        if self.kind == "score":
            out[0] += " {"
        elif self.results[0].name == "result":
            out[0] += " -> " + self.results[0].text()[len("result: "):] + " {"
        else:
            out[0] += "\n    -> (%s) {" % ", ".join(r.text() for r in self.results)
        out += ["  param " + p.text() for p in self.params] + ["  " + x for x in self.lines]
        for q in self.body:
            if q.targets[0][0] == "result" and self.results[0].name == "result":
                out.append("  return " + q.text().split(" = ", 1)[1])
            else:
                out.append("  " + q.text())
        return "\n".join(out) + "\n}\n"


class Inst:
    def __init__(self, run, fn, caller, given, pattern):
        self.run, self.fn, self.pattern, self.tensors = run, fn, pattern, {}
        self.dims = dict(caller.dims) if caller else dict(run.dims)
        for f, g in zip(fn.formals, given):
            self.tensors[f.name] = g
            if f.axes and isinstance(f.axes[-1], str) and isinstance(g.data, list):
                for a, n in zip(f.axes, g.shape(self)):
                    if isinstance(a, str):
                        self.dims[a] = n
        for f in fn.formals[len(given):]:
            self.tensors[f.name] = Given(self.dims[f.default], 0, False)
        for p in fn.params:
            self.tensors[p.name] = run.weight(pattern.replace("{}", p.name), p, self.dims)

    def tensor(self, name):
        if name not in self.tensors:
            self.tensors[name] = Defined(self, name)
        return self.tensors[name]

    def result(self, k, at):
        t = self.tensor(self.fn.results[k].name)
        want = len(self.fn.results[k].axes) - len(at)
        if want == 0 or (want == 1 and t.vec):
            return t.read(at)
        axis = self.fn.results[k].axes[len(at)]
        return [self.result(k, at + [i]) for i in range(self.dims[axis])]


class Run:
    """One evaluation of a program: sizes, weights by name, a budget."""

    def __init__(self, functions, dims, weights, budget=400000):
        self.functions, self.dims, self.weights, self.left = functions, dims, weights, budget

    def step(self):
        self.left -= 1
        if self.left < 0:
            raise TooMuch("budget")

    def weight(self, source, p, dims):
        data = self.weights[source]
        if p.axes and not isinstance(p.axes[0], str):
            return Packed(data, [dims[a] for a in p.axes[0]])
        return Given(data, len(p.axes), False)
