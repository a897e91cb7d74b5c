"""program_make.py: random programs, typed by construction (program_case.py holds one with its data)."""
import copy
import math
import random

from program_eval import (Bin, Binder, Call, Dim, Dot, Else, Equation, Extreme, Formal, Function,
                          Idx, Join, Left, MatVec, Norm, Num, Own, Read, Red, Tuple, Un, Where)
from program_absent import Absent, Info
from program_case import Program


class Gen(Absent):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.seed = seed
        r = self.r
        self.dims = {d: r.choice([0, 1, 1, 2, 2, 3, 3, 4]) for d in "TSEHKN"}
        for d in "EHKN":
            self.dims[d] = self.dims[d] or r.choice([0, 1, 2])
        self.dims["L"] = r.choice([1, 2, 3])
        self.dims["V"] = r.choice([1, 2, 4, 5])
        self.batch = r.choice([None, 1, 2, 2, 3])
        self.functions, self.weights, self.tensors = {}, {}, {}
        self.inputs, self.params, self.lines, self.body, self.parts = [], [], [], [], {}
        self.lengths = {}
        self.letter = 0
        self.poison = set()

    # --- small helpers

    def chance(self, p):
        return self.r.random() < p

    def fresh(self, hint="i"):
        self.letter += 1
        return "%s%d" % (hint, self.letter)

    def number(self):
        return Num(self.r.choice([0, 1, 2, -1, 0.5, 0.25, -0.75, 1.5, 3]))

    def size(self, axis):
        if isinstance(axis, tuple):
            return math.prod(self.dims[a] for a in axis)
        return eval(axis, {}, self.dims)  # names, + and * only: of our own making

    def data(self, axes, f):
        if not axes:
            return f()
        return [self.data(axes[1:], f) for _ in range(self.size(axes[0]))]

    def real(self):
        return self.r.randint(-16, 16) / 8

    def param(self, fn_params, name, axes, source=None):
        fn_params.append(Formal(name, axes))
        for s in [source] if isinstance(source, str) else source or [name]:
            self.weights[s] = self.data(axes, self.real)

    # --- functions

    def make_functions(self):
        r = self.r
        f = self.functions
        a, b = Read("a", [], 0), Read("b", [], 0)
        body = r.choice([Bin("+", a, Un("tanh", b)), Bin("*", a, Bin("-", b, Num(1))),
                         Extreme("max", a, b), Else(Where(a, Bin("<", Num(-9), b)), Num(2)),
                         Bin("/", a, Bin("+", Num(1), Un("abs", b))), Where(a, Bin("<", a, b))])
        f["two"] = Function("fn", "two", [Formal("a", []), Formal("b", [])],
                            [Formal("result", [])], [Equation([("result", [], None)], body)])
        q, k = Read("q", [], 1), Read("k", [], 1)
        if self.chance(0.5):
            f["sco"] = Function("score", "sco", [Formal("q", ["D"]), Formal("k", ["D"])],
                                [Formal("result", [])], [Equation([("result", [], None)], Bin(
                                    "*", Dot(q, k), Num(0.5)))])
            f["sco"].free = True
        else:
            ps = []
            self.param(ps, "sw", ["H", "E"])
            self.param(ps, "sv", ["H"])
            f["sco"] = Function("score", "sco", [Formal("q", ["E"]), Formal("k", ["E"])],
                                [Formal("result", [])], [
                                    Equation([("u", [], "H")], Un("tanh", Bin("+", MatVec(
                                        "sw", [], q), MatVec("sw", [], k)))),
                                    Equation([("result", [], None)], Dot(
                                        Read("sv", [], 1), Read("u", [], 1)))], ps)
            f["sco"].free = False
        # a cell, one result or two
        ps, pre = [], []
        names = ["cell1_", "cell2_"]
        self.param(ps, "W", ["2 * H", "E"], [n + "W" for n in names])
        self.param(ps, "U", ["H", "H"], [n + "U" for n in names])
        x, h = Read("x", [], 1), Read("h", [], 1)
        pre = [Equation([("g", [], "H"), ("o", [], "H")], MatVec("W", [], x), split=["H", "H"])]
        new = Un("tanh", Bin("+", Read("g", [], 1), MatVec("U", [], h)))
        f["cell"] = Function("fn", "cell", [Formal("x", ["E"]), Formal("h", ["H"])],
                             [Formal("h1", ["H"]), Formal("c1", ["H"])],
                             pre + [Equation([("h1", [], "H")], new),
                                    Equation([("c1", [], "H")], Bin("*", Un(
                                        "sigmoid", Read("o", [], 1)), Read("h1", [], 1)))], ps)
        # a layer over one vector, for arrays of parts
        ps = []
        self.param(ps, "M", ["H", "H"], ["l%d.M" % i for i in range(self.dims["L"])])
        self.param(ps, "c", ["H"], ["l%d.c" % i for i in range(self.dims["L"])])
        y = Read("y", [], 1)
        i = self.fresh()
        mean = Red("sum", [Binder(i, "H")], None, "plain", Read("y", [Idx(i)], 1))
        f["layer"] = Function("fn", "layer", [Formal("y", ["H"])], [Formal("result", ["H"])], [
            Equation([("result", [], "H")], r.choice([
                Bin("+", Un("tanh", MatVec("M", [], y)), Read("c", [], 1)),
                Bin("*", Bin("-", y, mean), Read("c", [], 1))]))], ps)
        # own reducer and normaliser; absent entries travel into them
        d, e = self.fresh("d"), self.fresh("d")
        xd, xe = Read("x", [Idx(d)], 1), Read("x", [Idx(e)], 1)
        total = Red(r.choice(["sum", "max", "min", "mean", "prod"]), [Binder(d, "D")], None, "plain", xd)
        f["red"] = Function("fn", "red", [Formal("x", ["D"])], [Formal("result", [])], [
            Equation([("result", [], None)], Else(total, Num(-1)))])
        f["nrm"] = Function("fn", "nrm", [Formal("x", ["D"])], [Formal("z", ["D"])], [
            Equation([("z", [Left(e, "D")], None)], Bin("/", xe, Bin("+", Num(1), Red(
                "sum", [Binder(d, "D")], None, "plain", Un("abs", xd)))))])
        # a whole sequence
        ps = []
        self.param(ps, "A", ["H", "E + H"], ["enc_A"])
        t = self.fresh("t")
        back = self.chance(0.5)
        prev = Read("s", [Bin("+" if back else "-", Idx(t), Num(1))], 2)
        step = Un("tanh", MatVec("A", [], Join([Read("x", [Idx(t)], 2), prev])))
        edge = Left(at=Dim("T") if back else Num(-1))
        f["enc"] = Function("encoder", "enc", [Formal("x", ["T", "E"]),
                                               Formal("n", [], "int", "T")],
                            [Formal("y", ["T", "H"]), Formal("last", ["H"])], [
            Equation([("s", [edge], "H")], Num(0)),
            Equation([("s", [Left(t, "T")], "H")], Else(
                Where(step, Bin("<", Idx(t), Read("n", [], 0))), prev)),
            Equation([("y", [Left(t, "T")], "H")], Where(
                Read("s", [Idx(t)], 2), Bin("<", Idx(t), Read("n", [], 0)))),
            Equation([("last", [], "H")], Read("s", [Num(0)], 2) if back else
                     Read("s", [Bin("-", Dim("T"), Num(1))], 2))], ps)

    # --- reading

    def readable(self, scope, scalar="real", exact=False, rank=None):
        """Tensors whose every axis some index in scope ranges over."""
        out = []
        for n, i in self.tensors.items():
            if i.scalar == scalar and (i.exact or not exact) and \
                    (rank is None or len(i.axes) == rank) and \
                    all(any(d == a for _, d in scope) for a in i.axes):
                out.append(n)
        return out

    def items(self, scope, axes):
        return [Idx(self.r.choice([n for n, d in scope if d == a])) for a in axes]

    def read(self, scope, name):
        i = self.tensors[name]
        n = Read(name, self.items(scope, i.axes), len(i.axes))
        n.axes = i.axes if i.known else [None] * len(i.axes)
        return n

    def shifted(self, scope):
        """A read beside an index; outside it is absent."""
        names = [n for n in self.readable(scope) if self.tensors[n].axes]
        if not names:
            return None
        name = self.r.choice(names)
        n = self.read(scope, name)
        k = self.r.randrange(len(n.kids))
        by = self.r.choice([1, 1, 2])
        n.kids[k] = Bin(self.r.choice("+-"), n.kids[k], Num(by))
        return n

    # --- ints and conditions

    def integer(self, scope, d):
        r = self.r
        opts = [Num(r.randint(0, 3))]
        opts += [Idx(n) for n, _ in scope] * 2
        opts += [Read(n, [], 0) for n in self.lengths]
        ints = [n for n in self.readable(scope, "int") if self.tensors[n].axes]
        if ints:
            opts.append(self.read(scope, r.choice(ints)))
        if d > 0:
            a = self.integer(scope, d - 1)
            opts += [Bin("+", a, Num(r.randint(0, 2))), Bin("-", a, Num(r.randint(0, 2))),
                     Bin("//", a, Num(2)), Bin("%", a, Num(r.choice([2, 3]))),
                     Bin("*", a, Num(2))]
            if self.chance(0.3):
                v = self.exact_real(scope)
                opts.append(Un("floor", Bin("*", v, Num(2))))
        return r.choice(opts)

    def exact_real(self, scope):
        names = self.readable(scope, exact=True)
        return self.read(scope, self.r.choice(names)) if names else Num(0.25)

    def condition(self, scope, d):
        r = self.r
        c = r.randrange(9)
        if c == 0 and d > 0:
            return Bin(r.choice(["and", "or"]), self.condition(scope, d - 1),
                       self.condition(scope, d - 1))
        if c == 1 and d > 0:
            return Un("not", self.condition(scope, d - 1))
        if c == 2:
            return Bin(r.choice(["<", "<=", ">"]), self.exact_real(scope), Num(r.choice(
                [0, 0.25, -0.5])))
        if c == 3:
            names = self.readable(scope, "bool")
            if names:
                return self.read(scope, r.choice(names))
        if c == 4 and scope and self.lengths:
            return Bin("<", Idx(r.choice(scope)[0]), Read(r.choice(list(self.lengths)), [], 0))
        if c == 5 and d > 0:
            return self.reducer(scope, 1, r.choice(["any", "all"]))
        if c == 6 and len(scope) > 1:
            a, b = r.sample(scope, 2)
            return Bin(r.choice(["<", "<=", "==", "!="]), Idx(a[0]), Idx(b[0]))
        return Bin(r.choice(["<", "<=", "==", "!=", ">=", ">"]), self.integer(scope, 1),
                   self.integer(scope, 1))

    # --- binders

    def bare(self, node, name):
        """The dims of the axes that `name` indexes alone."""
        out = set()
        if hasattr(node, "axes"):
            for k, a in zip(node.kids, node.axes):
                if isinstance(k, Idx) and k.name == name:
                    out.add(a)
        for k in node.kids:
            out |= self.bare(k, name)
        for b in getattr(node, "binders", []) + [getattr(node, "binder", None)]:
            for k in (b.lo, b.hi) if b is not None and b.lo else ():
                out |= self.bare(k, name)
        return out

    def reducer(self, scope, d, op=None):
        r = self.r
        op = op or r.choice(["sum", "sum", "sum", "prod", "max", "min", "mean", "logsumexp",
                             "count"])
        binders, inner, ranged = [], list(scope), []
        for _ in range(2 if self.chance(0.15) else 1):
            i = self.fresh("j")
            if self.chance(0.2):
                lo, hi = Num(r.choice([0, -1, 1])), self.integer(scope, 0)
                if not isinstance(hi, (Num, Idx)):
                    hi = Num(r.randint(-1, 2))
                binders.append(Binder(i, None, lo, hi, "range"))
                ranged.append(i)
            else:
                dim = r.choice([b for _, b in scope] + ["T", "S", "E"])
                binders.append(Binder(i, dim))
                inner.append((i, dim))
        logical = op in ("any", "all", "count")
        if ranged and not logical and self.chance(0.7):
            body = self.shifted(inner)
            if body:
                k = r.choice([k for k, x in enumerate(body.kids) if isinstance(x, Bin)])
                body.kids[k] = Bin("+", body.kids[k].kids[0], Idx(ranged[0]))
                body = Else(body, self.number())
            else:
                body = self.scal(inner, d - 1)
        else:
            body = self.condition(inner, d - 1) if logical else self.scal(inner, d - 1)
        cond, style = None, "plain"
        c = r.random()
        if c < 0.35:
            cond, style = self.condition(inner, 1), "where"
        elif c < 0.6 and scope and binders[0].form == "bare":
            j = binders[0].name
            cond = Bin(r.choice(["<", "<="]), Idx(j), r.choice(
                [Idx(n) for n, _ in scope] + [Read(n, [], 0) for n in self.lengths]))
            style = "item"
        for b in binders:
            if b.form == "bare":
                used = self.bare(body, b.name) | (self.bare(cond, b.name) if cond else set())
                if used != {b.dim} or self.chance(0.3):
                    b.form = "in"
                    if style == "item" and b is binders[0]:
                        style = "where"
        return Red(op, binders, cond, style, body)

    def attention(self, scope, d, vec=None):
        """sum[j](softmax[...](score) * value)"""
        r = self.r
        j = self.fresh("j")
        dim = r.choice([b for _, b in scope if b in "TS"] + ["T", "S"])
        inner = scope + [(j, dim)]
        cond, style = None, "plain"
        c = r.random()
        if c < 0.4 and scope:
            cond = Bin(r.choice(["<", "<="]), Idx(j), r.choice(
                [Idx(n) for n, _ in scope] + [Read(n, [], 0) for n in self.lengths]))
            style = r.choice(["item", "where"])
        elif c < 0.6:
            cond, style = self.condition(inner, 1), "where"
        op = r.choice(["softmax"] * 4 + ["hardmax", "normalize"])
        score = self.exact_real(inner) if op == "hardmax" else self.scal(inner, min(d - 1, 1))
        if op == "normalize":
            score = Bin("+", Un("abs", score), Num(0.25))
        w = Norm(op, j, cond, style, score)
        if self.chance(0.2):
            w = Own("nrm", Binder(j, dim), cond, score, True)
        if self.chance(0.2):
            w = Bin("*", w, self.scal(inner, 0))
        val = self.vec(inner, vec, d - 1) if vec else self.scal(inner, min(d - 1, 1))
        body = Bin("*", w, val)
        b = Binder(j, dim)
        if self.bare(body, j) != {dim} or self.chance(0.3):
            b.form = "in"
        n = Red("sum", [b], None, "plain", body)
        n.vec = vec
        return n

    # --- numbers

    def leaf(self, scope):
        names = self.readable(scope)
        deep = [n for n in names if len(self.tensors[n].axes) > 0]
        if deep and self.chance(0.7):
            return self.read(scope, self.r.choice(deep))
        if names and self.chance(0.8):
            return self.read(scope, self.r.choice(names))
        if scope and self.chance(0.3):
            return Bin("*", Idx(self.r.choice(scope)[0]), Num(0.25))
        return self.number()

    def scal(self, scope, d):
        r = self.r
        if d <= 0 or self.chance(0.12):
            return self.leaf(scope)
        c = r.randrange(15)
        if c < 2:
            return Bin(r.choice("+-*"), self.scal(scope, d - 1), self.scal(scope, d - 1))
        if c == 2:
            u = r.choice(["tanh", "sin", "abs", "sigmoid", "relu", "erf", "-"])
            return Un(u, self.scal(scope, d - 1))
        if c == 3:
            return Bin("/", self.scal(scope, d - 1), Bin("+", Num(1), Un(
                "abs", self.scal(scope, d - 1))))
        if c == 4:
            n = self.shifted(scope)
            if n:
                a = n if self.chance(0.6) else Bin("*", n, self.scal(scope, d - 1))
                return Else(a, self.scal(scope, d - 1))
        if c == 5:
            return Else(Where(self.scal(scope, d - 1), self.condition(scope, 1)),
                        self.scal(scope, d - 1))
        if c == 6 and self.chance(0.5):
            return Where(self.scal(scope, d - 1), self.condition(scope, 1))
        if c in (7, 8):
            return self.reducer(scope, d)
        if c in (9, 10):
            return self.attention(scope, d)
        if c == 11:
            dim = r.choice("EH")
            a, b = self.vec(scope, dim, d - 2), self.vec(scope, dim, d - 2)
            f = self.functions["sco"]
            if self.chance(0.5) and (f.free or dim == "E"):
                return Call("sco", [a, b])
            return Dot(a, b)
        if c == 12:
            return Call("two", [self.scal(scope, d - 1), self.scal(scope, d - 1)])
        if c == 13:
            ids = [n for n in self.readable(scope, "int") if self.tensors[n].axes]
            if ids:
                at = self.read(scope, r.choice(ids))
                e = [n for n, a in scope if a == "E"]
                if e:
                    n = Read("emb", [at, Idx(e[0])], 2)
                    n.axes = ["V", "E"]
                    return n
        j = self.fresh("j")
        dim = r.choice("TSE")
        body = self.scal(scope + [(j, dim)], d - 1)
        form = "in" if self.bare(body, j) != {dim} else "bare"
        cond = self.condition(scope + [(j, dim)], 0) if self.chance(0.4) else None
        if cond and self.bare(cond, j) - {dim}:
            form = "in"
        return Own("red", Binder(j, dim, form=form), cond, body, False)

    # --- vectors

    def vec(self, scope, dim, d):
        r = self.r
        names = [n for n, i in self.tensors.items() if i.axes and i.axes[-1] == dim and
                 i.scalar == "real" and i.total and
                 all(any(b == a for _, b in scope) for a in i.axes[:-1])]
        if d <= 0 or self.chance(0.2):
            n = r.choice(names)
            i = self.tensors[n]
            x = Read(n, self.items(scope, i.axes[:-1]), len(i.axes))
            x.axes = i.axes if i.known else [None] * len(i.axes)
            return x
        c = r.randrange(9)
        if c == 0:
            return Un(r.choice(["tanh", "relu", "sin"]), self.vec(scope, dim, d - 1))
        if c == 1:
            return Bin(r.choice("+-*"), self.vec(scope, dim, d - 1), self.vec(scope, dim, d - 1))
        if c == 2:
            return Bin("*", self.scal(scope, d - 1), self.vec(scope, dim, d - 1))
        if c == 3:
            a, b = r.choice("EH"), r.choice("EH")
            if self.chance(0.3):
                p = self.fresh("W")
                self.param(self.params, p, [dim, "%s + %s" % (a, b)])
                return MatVec(p, [], Join([self.vec(scope, a, d - 1), self.vec(scope, b, d - 1)]))
            p = "W%s%s" % (dim, a)
            if p not in self.weights:
                self.param(self.params, p, [dim, a])
            return MatVec(p, [], self.vec(scope, a, d - 1))
        if c == 4:
            return Else(Where(self.vec(scope, dim, d - 1), self.condition(scope, 1)),
                        self.vec(scope, dim, d - 1))
        if c == 5:
            return self.attention(scope, d, dim)
        if c == 6 and dim == "H":
            if "layer" not in self.parts:
                self.parts["layer"] = "l{l}.{}"
                self.lines.append('part blk[l in L] = layer from "l{l}.{}"')
                self.parts["blk"] = "l{l}.{}"
            k = [n for n, b in scope if b == "L"]
            which = Idx(k[0]) if k else Num(r.randrange(self.dims["L"]))
            return Call("layer", [self.vec(scope, "H", d - 1)], "blk", which)
        if c == 7:
            return Call("two", [self.vec(scope, dim, d - 1), self.vec(scope, dim, d - 1)]) \
                if not isinstance(self.functions["two"].body[0].rhs, Where) else \
                self.vec(scope, dim, d - 1)
        n = [n for n in names if self.tensors[n].axes[:-1]]
        if n:
            name = r.choice(n)
            i = self.tensors[name]
            x = Read(name, self.items(scope, i.axes[:-1]), len(i.axes))
            x.axes = i.axes if i.known else [None] * len(i.axes)
            k = r.randrange(len(x.kids))
            x.kids[k] = Bin(r.choice("+-"), x.kids[k], Num(r.choice([1, 1, 2])))
            return Else(x, self.vec(scope, dim, d - 1))
        return self.vec(scope, dim, d - 1)

    # --- equations

    def left(self, scope, rhs, force=False):
        out = []
        for n, d in scope:
            used = self.bare(rhs, n)
            out.append(Left(n, d, used != {d} or force or self.chance(0.25)))
        return out

    def add(self, eqs, name, info):
        self.body += eqs
        self.tensors[name] = info

    def equation(self):
        r = self.r
        name = self.fresh("y")
        kind = r.randrange(16)
        if kind in (0, 1, 2):
            scope = [(self.fresh("t"), d) for d in r.sample(["T", "S", "E", "T", "L", "V"],
                                                            r.choice([1, 2, 2, 3]))]
            rhs = self.scal(scope, r.choice([2, 3, 3, 4]))
            total = self.chance(0.4)
            if total:
                rhs = Else(rhs, Num(0))
            self.add([Equation([(name, self.left(scope, rhs), None)], rhs)], name,
                     Info([d for _, d in scope], total=total))
        elif kind in (3, 4):
            scope = [(self.fresh("t"), d) for d in r.sample(["T", "S", "L"], r.choice([1, 1, 2]))]
            dim = r.choice("EH")
            rhs = self.vec(scope, dim, r.choice([2, 3]))
            self.add([Equation([(name, self.left(scope, rhs), dim)], rhs)], name,
                     Info([d for _, d in scope] + [dim]))
        elif kind == 5:
            rhs = self.scal([], 3)
            self.add([Equation([(name, [], None)], rhs)], name, Info([], total=False))
        elif kind in (6, 7):
            self.recurrence(name)
        elif kind == 8:
            self.scalar_recurrence(name)
        elif kind == 9:
            self.grid(name)
        elif kind == 10:
            self.cells(name)
        elif kind == 11:
            self.tiles(name)
        elif kind == 12:
            self.layers(name)
        elif kind == 13:
            self.ints(name)
        elif kind == 14:
            self.absent_steps(name)
        else:
            self.absent_layers(name)

    def recurrence(self, name):
        """h[t] = f(x[t], h[t-1]), one way or the other, perhaps with its history."""
        r = self.r
        t, dim, step = self.fresh("t"), r.choice("EH"), r.choice("TS")
        back = self.chance(0.4)
        init = r.choice([Num(0), self.vec([], dim, 1)])
        edge = Left(at=Dim(step) if back else Num(-1))
        prev = Read(name, [Bin("+" if back else "-", Idx(t), Num(1))], 2)
        rhs = Un("tanh", Bin("+", self.vec([(t, step)], dim, 2), prev))
        hist = self.chance(0.4)
        if hist:
            i = self.fresh("i")
            old = Read(name, [Idx(i)], 2)
            cond = Bin(">" if back else "<", Idx(i), Idx(t))
            score = self.scal([(t, step), (i, step)], 1)
            body = Bin("*", Norm("softmax", i, cond, "where", score), old)
            if self.chance(0.3):
                body, c = old, cond
            else:
                c = cond if self.chance(0.3) else None
            s = Red("sum", [Binder(i, step, form="in")], c, "where" if c else "plain", body)
            s.vec = dim
            rhs = Un("tanh", Bin("+", rhs, s))
        if self.chance(0.5):
            n = r.choice(list(self.lengths)) if self.lengths else None
            c = Bin("<", Idx(t), Read(n, [], 0)) if n else self.condition([(t, step)], 1)
            rhs = Else(Where(rhs, c), prev)
        eqs = [Equation([(name, [edge], dim)], init),
               Equation([(name, [Left(t, step, True)], dim)], rhs)]
        if self.chance(0.5):
            eqs.reverse()
        self.add(eqs, name, Info([step, dim]))

    def declare(self, name, axes):
        """A number that reads itself has no other way to tell its axes."""
        self.lines.append("%s: [%s]" % (name, ", ".join(axes)))

    def scalar_recurrence(self, name):
        r = self.r
        t, step = self.fresh("t"), r.choice("TS")
        back = self.chance(0.4)
        j, dim = self.fresh("j"), r.choice(["E", "S", "T", None])
        scope = [(t, step)] + ([(j, dim)] if dim else [])
        at = [Bin("+" if back else "-", Idx(t), Num(1))] + ([Idx(j)] if dim else [])
        prev = Read(name, at, len(at))
        other = self.fresh("y") if self.chance(0.5) else None
        if other:  # two that need each other
            o = Read(other, at if self.chance(0.5) else [Idx(n) for n, _ in scope], len(at))
            rhs = Un("tanh", Bin("+", self.scal(scope, 2), Bin("*", prev, o)))
        else:
            rhs = Un("tanh", Bin("+", self.scal(scope, 2), prev))
        if self.chance(0.4):
            rhs = Else(Where(rhs, self.condition(scope, 1)), prev)
        else:
            rhs = Else(rhs, Num(0.5))
        edge = [Left(at=Dim(step) if back else Num(-1))] + ([Left(j, dim, True)] if dim else [])
        left = [Left(t, step, True)] + ([Left(j, dim, True)] if dim else [])
        first = self.leaf([(j, dim)] if dim else []) if self.chance(0.5) else Num(0.25)
        eqs = [Equation([(name, edge, None)], Else(first, Num(1))),
               Equation([(name, left, None)], rhs)]
        if other:
            rhs2 = Else(Un("sin", Bin("-", prev, self.scal(scope, 1))), Num(0))
            eqs += [Equation([(other, copy.deepcopy(edge), None)], Num(0.5)),
                    Equation([(other, copy.deepcopy(left), None)], rhs2)]
            self.tensors[other] = Info([d for _, d in scope])
            self.declare(other, [d for _, d in scope])
        self.declare(name, [d for _, d in scope])
        self.add(eqs, name, Info([d for _, d in scope]))

    def grid(self, name):
        """d[i, j] from d[i-1, j], d[i, j-1]: a scan in a scan."""
        i, j = self.fresh("i"), self.fresh("j")
        a, b = self.r.choice(["TS", "ST", "TE", "LT"])
        up = Read(name, [Bin("-", Idx(i), Num(1)), Idx(j)], 2)
        side = Read(name, [Idx(i), Bin("-", Idx(j), Num(1))], 2)
        x = self.scal([(i, a), (j, b)], 1)
        form = self.r.randrange(3)
        if form == 0:
            rhs = Un("tanh", Bin("+", Bin("+", up, side), Else(x, Num(0))))
            eqs = [Equation([(name, [Left(at=Num(-1)), Left(j, b, True)], None)], Num(0.5)),
                   Equation([(name, [Left(i, a, True), Left(at=Num(-1))], None)], Num(0.25))]
        else:
            rhs = Un("tanh", Bin("+", Bin("+", Else(up, Num(0.5)), Else(side, Num(0.25))),
                                 Else(x, Num(0))))
            eqs = []
        eqs.append(Equation([(name, [Left(i, a, True), Left(j, b, True)], None)], rhs))
        self.declare(name, [a, b])
        self.add(eqs, name, Info([a, b]))

    def cells(self, name):
        t = self.fresh("t")
        c = name + "c"
        if "cell1" not in self.parts:
            self.parts["cell1"] = "cell1_{}"
            self.lines.append('part cell1 = cell from "cell1_{}"')
        back = self.chance(0.4)
        at = Bin("+" if back else "-", Idx(t), Num(1))
        edge = Left(at=Dim("T") if back else Num(-1))
        call = Call("cell", [self.vec([(t, "T")], "E", 1), Read(name, [at], 2)], "cell1")
        rhs = call
        left = [(name, [Left(t, "T", True)], "H"), (c, [Left(t, "T", True)], "H")]
        if self.chance(0.6):
            n = self.r.choice(list(self.lengths)) if self.lengths else None
            cond = Bin("<", Idx(t), Read(n, [], 0)) if n else self.condition([(t, "T")], 1)
            rhs = Else(Where(call, cond), Tuple([Read(name, [at], 2), Read(c, [at], 2)]))
            self.body.append(Equation([(c, [copy.deepcopy(edge)], "H")], Num(0)))
        self.tensors[c] = Info(["T", "H"])
        self.add([Equation([(name, [edge], "H")], Num(0)), Equation(left, rhs)], name,
                 Info(["T", "H"]))

    def tiles(self, name):
        r = self.r
        t, s = self.fresh("t"), self.fresh("t")
        j, dim = self.fresh("j"), r.choice(["E", None])
        rest = [(j, dim)] if dim else []
        a, b = self.scal([(s, "S")] + rest, 2), self.scal([(t, "T")] + rest, 2)
        tail = lambda: [Left(j, dim, True)] if dim else []
        total = self.chance(0.5)
        if total:
            a, b = Else(a, Num(0)), Else(b, Num(1))
        eqs = [Equation([(name, [Left(s, "S", True)] + tail(), None)], a),
               Equation([(name, [Left(t, "T", offset=Dim("S"))] + tail(), None)], b)]
        if not self.bare(b, t) == {"T"}:
            return self.equation()
        self.declare(name, ["S + T"] + [d for _, d in rest])
        self.body += eqs
        # read it with offsets
        out, u = self.fresh("y"), self.fresh("t")
        at = r.choice([Bin("+", Idx(u), Dim("S")), Idx(u), Bin("+", Idx(u), Num(1))])
        x = Else(Read(name, [at] + [Idx(n) for n, _ in rest], 1 + len(rest)), Num(2))
        self.add([Equation([(out, [Left(u, "T", True)] + tail(), None)], x)], out,
                 Info(["T"] + [d for _, d in rest], total=False))
        self.tensors[name] = Info(["S + T"] + [d for _, d in rest], total=total)

    def layers(self, name):
        """h[0] = x; h[l+1] = f(h[l]): as many as parts."""
        l, t = self.fresh("l"), self.fresh("t")
        if "blk" not in self.parts:
            self.lines.append('part blk[l in L] = layer from "l{l}.{}"')
            self.parts["blk"] = self.parts["layer"] = "l{l}.{}"
        x = self.vec([(t, "T")], "H", 1)
        rhs = Call("layer", [Read(name, [Idx(l), Idx(t)], 3)], "blk", Idx(l))
        if self.chance(0.4):
            rhs = Un("tanh", Bin("+", rhs, self.vec([(t, "T")], "H", 1)))
        self.lines.append("%s: [L + 1, T, H]" % name)
        self.add([Equation([(name, [Left(at=Num(0)), Left(t, "T", True)], "H")], x),
                  Equation([(name, [Left(l, "L", offset=Num(1)), Left(t, "T", True)], "H")], rhs)],
                 name, Info(["L + 1", "T", "H"]))
        out, u = self.fresh("y"), self.fresh("t")
        self.add([Equation([(out, [Left(u, "T", True)], "H")],
                           Read(name, [Dim("L"), Idx(u)], 3))], out, Info(["T", "H"]))

    def ints(self, name):
        r = self.r
        scope = [(self.fresh("t"), d) for d in r.sample("TSE", r.choice([1, 2]))]
        if self.chance(0.3):
            rhs = self.condition(scope, 2)
            scalar = "bool"
        elif self.chance(0.5):
            j, dim = self.fresh("j"), r.choice("TSE")
            v = self.exact_real(scope + [(j, dim)])
            form = "bare" if self.bare(v, j) == {dim} else "in"
            rhs = Else(Red(r.choice(["argmax", "argmin"]), [Binder(j, dim, form=form)], None,
                           "plain", v), Num(0))
            if self.chance(0.4):
                rhs.kids[0].kids.append(self.condition(scope + [(j, dim)], 1))
                rhs.kids[0].style = "where"
                rhs.kids[0].binders[0].form = "in"
            scalar = "int"
        else:
            rhs, scalar = self.integer(scope, 3), "int"
        self.add([Equation([(name, self.left(scope, rhs), None)], rhs)], name,
                 Info([d for _, d in scope], scalar + "_", total=True))

    # --- the whole

    def program(self):
        r = self.r
        self.make_functions()

        def given(name, axes, scalar="real", **kw):
            self.inputs.append(Formal(name, axes, scalar))
            self.tensors[name] = Info(axes, scalar, exact=True, **kw)
        given("x", ["T", "E"])
        given("z", ["S", "E"])
        given("h0", ["H"])
        given("u", ["E"])
        given("q", ["T", "S"])
        given("m", ["S", "H"])
        given("ids", ["T"], "int")
        given("g", ["T"], "bool")
        given("w", ["L"])
        given("vv", ["V"])
        self.param(self.params, "emb", ["V", "E"])
        self.tensors["emb"] = Info(["V", "E"], exact=True)
        for n, d in (("n", "T"), ("k", "S")):
            if self.chance(0.6):
                self.inputs.append(Formal(n, [], "int", d))
                self.lengths[n] = d
        if self.chance(0.3):
            given("kn", ["K", "N"])
            self.param(self.params, "pk", [("K", "N"), "E"])
            self.tensors["pk"] = Info(["K", "N", "E"], exact=True)
        for _ in range(r.choice([1, 2, 2, 3, 4])):
            self.equation()
        if self.chance(0.25):
            a, b = self.fresh("y"), self.fresh("y")
            self.parts["enc1"] = "enc_{}"
            self.lines.append('part enc1 = enc from "enc_{}"')
            args = [Read("x", [], 2)] + ([Read("n", [], 0)] if "n" in self.lengths else [])
            if self.dims["T"]:
                self.body.append(Equation([(a, [], ("T", "H")), (b, [], ("H",))], Call(
                    "enc", args, "enc1")))
                self.declare(a, ["T", "H"])  # the part's H is a size of its own
                self.declare(b, ["H"])
                self.tensors[a] = Info(["T", "H"])
                self.tensors[b] = Info(["H"])
                self.equation()
        made = [n for n in self.tensors if n.startswith("y")]
        made = [n for n in made if any(t[0] == n for q in self.body for t in q.targets)]
        if not made:
            return None
        keep = made[-1:] + [n for n in made[:-1] if self.chance(0.5)]
        results = [Formal(n, self.tensors[n].axes, self.tensors[n].scalar.rstrip("_"))
                   for n in keep]
        if self.chance(0.3):
            r.shuffle(self.body)
        lines = [x for x in self.lines if x.split(":")[0] not in keep]
        main = Function("encoder", "main_", self.inputs, results, self.body, self.params,
                        self.parts, lines)
        p = Program(self, main)
        return p
