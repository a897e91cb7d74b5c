"""program_absent.py: recurrences some of whose steps are absent, for program_make.py."""
import copy

from program_eval import (Bin, Binder, Call, Dim, Dot, Else, Equation, Idx, Left, Norm, Num, Read,
                          Red, Un, Where)


class Info:
    """What the generator knows of a tensor: axes by dim, type, whether all of it is present, whether
    its values are exact in f32 (comparisons may depend on them)."""

    def __init__(self, axes, scalar="real", total=True, exact=False, known=True):
        self.axes, self.scalar, self.total, self.exact, self.known = axes, scalar, total, exact, known


class Absent:
    """The part of the generator that makes them."""

    def absent_steps(self, name):
        """y[t] from y[t-1] where some steps are absent, and what follows from them: the presence of a
        step is computed along with it."""
        r = self.r
        t, step = self.fresh("t"), r.choice("TS")
        back = self.chance(0.4)
        j, dim = self.fresh("j"), r.choice(["E", "S", "T", None, None])
        scope = [(t, step)] + ([(j, dim)] if dim else [])
        inner = [Idx(j)] if dim else []
        at = [Bin("+" if back else "-", Idx(t), Num(1))] + inner
        prev = Read(name, at, len(at))
        x = Where(self.scal(scope, 1), self.condition(scope, 1)) if self.chance(0.6) else \
            self.scal(scope, 2)
        if dim and self.chance(0.25):  # the present of an element is another one's past
            prev = Else(Read(name, [at[0], Bin("+", Idx(j), Num(1))], 2), Num(0.5)) \
                if self.chance(0.5) else Bin("+", prev, Else(
                    Read(name, [at[0], Bin("-", Idx(j), Num(1))], 2), Num(0.25)))
        form = r.randrange(6)
        if form == 0:
            rhs = Bin("+", x, prev)
        elif form == 1:
            rhs = Bin("+", x, Else(prev, self.leaf(scope)))
        elif form == 2:
            rhs = Where(Bin("-", prev, x), self.condition(scope, 1))
        elif form == 3:  # all of the history, without what is absent in it
            i = self.fresh("i")
            old = Read(name, [Idx(i)] + copy.deepcopy(inner), len(at))
            cond = Bin(">" if back else "<", Idx(i), Idx(t))
            op = r.choice(["sum", "max", "mean", "min"])
            rhs = Bin("+", x, Red(op, [Binder(i, step, form="in")], cond, "where", old))
            if self.chance(0.5):
                rhs = Bin("+", rhs, prev)
            if self.chance(0.4):
                rhs = Else(rhs, x)
        elif form == 4:
            i = self.fresh("i")
            old = Read(name, [Idx(i)] + copy.deepcopy(inner), len(at))
            cond = Bin(">" if back else "<", Idx(i), Idx(t))
            w = Norm("softmax", i, cond, "where", copy.deepcopy(old))
            rhs = Bin("+", x, Red("sum", [Binder(i, step, form="in")], cond, "where",
                                  Bin("*", w, old)))
            rhs = Bin("+", rhs, prev) if self.chance(0.5) else Else(rhs, prev)
        else:
            rhs = Else(Where(Bin("+", x, prev), self.condition(scope, 1)), prev)
        rhs = Un("tanh", rhs)
        other = self.fresh("y") if self.chance(0.3) else None
        if other:
            o = Read(other, copy.deepcopy(at) if self.chance(0.5) else [Idx(n) for n, _ in scope],
                     len(at))
            rhs = Bin("-", rhs, Else(o, Num(0.5)) if self.chance(0.4) else o)
        first = Num(0.25) if self.chance(0.5) else self.leaf([(j, dim)] if dim else [])
        if self.chance(0.3):
            first = Where(first, self.condition([(j, dim)] if dim else [], 1))
        edge = [Left(at=Dim(step) if back else Num(-1))] + ([Left(j, dim, True)] if dim else [])
        left = [Left(t, step, True)] + ([Left(j, dim, True)] if dim else [])
        eqs = [Equation([(name, edge, None)], first), Equation([(name, left, None)], rhs)]
        if other:
            rhs2 = Un("sin", Bin("-", copy.deepcopy(prev), self.scal(scope, 1)))
            if self.chance(0.3):
                rhs2 = Else(rhs2, Num(0))
            eqs += [Equation([(other, copy.deepcopy(edge), None)], Num(0.5)),
                    Equation([(other, copy.deepcopy(left), None)], rhs2)]
            self.tensors[other] = Info([d for _, d in scope], total=False)
            self.declare(other, [d for _, d in scope])
        self.declare(name, [d for _, d in scope])
        self.add(eqs, name, Info([d for _, d in scope], total=False))

    def absent_layers(self, name):
        """Rows that are absent in the first layer are so in all; or the layers add to what is."""
        r = self.r
        l, t, j = self.fresh("l"), self.fresh("t"), self.fresh("j")
        if "blk" not in self.parts:
            self.lines.append('part blk[l in L] = layer from "l{l}.{}"')
            self.parts["blk"] = self.parts["layer"] = "l{l}.{}"
        n = r.choice(list(self.lengths)) if self.lengths else None
        c = Bin("<", Idx(t), Read(n, [], 0)) if n else self.condition([(t, "T")], 1)
        first = Where(self.vec([(t, "T")], "H", 1), c)
        here = Read(name, [Idx(l), Idx(t)], 3)
        form = r.randrange(4)
        rhs = here
        if form != 1:
            rhs = Call("layer", [rhs], "blk", Idx(l))
        if form in (1, 2):
            there = Read(name, [Idx(l), Idx(j)], 3)
            w = Norm("softmax", j, None, "plain", Dot(here, there))
            s = Red("sum", [Binder(j, "T", form="in")], None, "plain", Bin("*", w, there))
            s.vec = "H"
            rhs = Bin("+", rhs, s)
        if form == 3:
            rhs = Where(rhs, self.condition([(t, "T"), (l, "L")], 1))
            if self.chance(0.5):
                rhs = Else(rhs, here)
        self.lines.append("%s: [L + 1, T, H]" % name)
        self.add([Equation([(name, [Left(at=Num(0)), Left(t, "T", True)], "H")], first),
                  Equation([(name, [Left(l, "L", offset=Num(1)), Left(t, "T", True)], "H")],
                           Un("tanh", rhs))],
                 name, Info(["L + 1", "T", "H"], total=False))
        out, u = self.fresh("y"), self.fresh("t")
        self.add([Equation([(out, [Left(u, "T", True)], "H")],
                           Read(name, [Dim("L"), Idx(u)], 3))], out, Info(["T", "H"], total=False))
