#!/usr/bin/env python3
"""program_forms.py: random attention programs of sizes past the edges of tiles and lanes.

    program_forms.py --attnc build/attnc --seed 1 --count 200 [-j2] [--keep DIR]

Weighted sums in the forms that the passes know, with masks of all kinds, projections and
recurrences over their history. The interpreter on the unoptimised graph is the oracle (that it is
right is what program_gen.py is for); against it go JIT in f64, in f32, without the optional
passes, on several threads (bit by bit the same as on one) and, for recurrences, step by step. A
seed alone gives a program and its data back."""
import math
import os
import random
import re
import subprocess
import sys
import tempfile

from program_case import read_tensors, write_tensors
from program_search import search

SIZES = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 17, 31, 33, 33, 48, 49, 49, 65, 65, 130]


class Form:
    """One program: lines of equations, its inputs with their axes, its results."""

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.seed, self.letter = seed, 0
        self.steps = r.random() < 0.4
        self.dims = {"T": r.choice(SIZES), "S": r.choice(SIZES), "D": r.choice([1, 3, 4, 8, 16, 17]),
                     "M": r.choice([1, 2, 4, 7, 8, 9, 16, 33]), "P": r.choice([1, 2, 3]),
                     "G": r.choice([1, 2, 3])}
        if r.random() < 0.1:
            self.dims[r.choice("TS")] = 0
        self.keys = "T" if self.steps or r.random() < 0.3 else "S"
        if self.steps:
            self.dims["T"] = min(self.dims["T"], 65)
        self.batch = r.choice([None, None, 1, 2, 3])
        self.inputs, self.params, self.lines, self.results = {}, {}, [], []
        self.rows = {}
        for _ in range(r.choice([1, 1, 2, 3])):
            r.choice([self.attention] * 6 + [self.dense, self.history, self.window])()
        self.data()

    def chance(self, p):
        return self.r.random() < p

    def fresh(self, hint="y"):
        self.letter += 1
        return "%s%d" % (hint, self.letter)

    def given(self, name, axes, scalar="real"):
        self.inputs[name] = (axes, scalar)
        return name

    def param(self, axes):
        name = self.fresh("W")
        self.params[name] = axes
        return name

    def result(self, name, axes):
        self.results.append((name, axes))

    # --- pieces

    def key(self, name):
        """An input along the keys: its name says which."""
        return name if self.keys == "T" else name + "s"

    def mask(self, deep=True):
        """A condition between query i and key j."""
        r, g = self.r, self.given
        c = r.randrange(14 if deep else 11)
        if c < 3:
            return "j <= i"
        if c < 5:
            if self.steps:
                return "i - j < %d" % r.choice([1, 4, 40])
            g("n", None, "int")
            return "j < n"
        if c == 5:
            return "abs(i - j) <= %d" % r.choice([0, 3, 20])
        if c == 6:
            return r.choice(["", "not "]) + g(self.key("ok"), [self.keys], "bool") + "[j]"
        if c == 7:
            return "%s[i] == %s[j]" % (g("doc", ["T"], "int"), g(self.key("doc"), [self.keys], "int"))
        if c == 8:
            return "j // %d == i // %d" % ((r.choice([4, 16, 50]),) * 2)
        if c == 9:
            return r.choice(["j % 3 != 0", "i % 5 != 1", "(i + j) % 2 == 0", "j >= 2"])
        if c == 10:
            return "%s[i] %s j" % (g("at", ["T"], "int"), r.choice(["<=", ">", "!="]))
        if c == 11:
            return "(%s or %s)" % (self.mask(False), self.mask(False))
        if c == 12:
            return "not (%s and %s)" % (self.mask(False), self.mask(False))
        return "%s[i, j]" % g("see" + ("" if self.keys == "T" else "s"), ["T", self.keys], "bool")

    def condition(self, extra=0):
        c = [self.mask() for _ in range(self.r.choice([0, 1, 1, 2, 3]) + extra)]
        if self.steps:
            c.insert(self.r.randrange(len(c) + 1), "j <= i")
        return " and ".join(c)

    def where(self, c):
        return " where " + c if c else ""

    def query(self, h):
        return "qh[h, i]" if h else "q[i]"

    def score(self, h=False):
        r, g = self.r, self.given
        if h:
            g("qh", ["P", "T", "D"])
        else:
            g("q", ["T", "D"])
        k = g(self.key("k"), [self.keys, "D"])
        c = r.randrange(8)
        q, kj = self.query(h), k + "[j]"
        if c == 0:
            a, b = self.param(["M", "D"]), self.param(["M", "D"])
            return "dot(%s, tanh(%s @ %s + %s @ %s))" % (self.param(["M"]), a, q, b, kj)
        if c == 1:
            return "dot(%s, %s @ %s)" % (q, self.param(["D", "D"]), kj)
        if c == 2:
            return "-norm(%s - %s)" % (q, kj)
        s = "dot(%s, %s)" % (q, kj)
        if c == 3:
            return s
        s += " / sqrt(D)"
        if c == 4:
            s = "tanh(%s) * 2" % s
        elif c == 5:
            s += " - 0.1 * abs(i - j)"
        elif c == 6:
            s += " + %s[i, j]" % g("b" + ("" if self.keys == "T" else "s"), ["T", self.keys])
        if self.chance(0.1):
            s = "(%s) * %s[i]" % (s, g("x", ["T"]))
        if self.chance(0.07):
            s = "(%s where %s)" % (s, self.mask())
        return s

    def value(self, at="j"):
        """What is summed: text, and the axis that it has besides."""
        r, g = self.r, self.given
        v, x = g(self.key("v"), [self.keys, "M"]), g(self.key("x"), [self.keys])
        c = r.randrange(9)
        v, x = "%s[%s]" % (v, at), "%s[%s]" % (x, at)
        if c < 3:
            return v, "M"
        if c == 3:
            return x, None
        if c == 4:
            return "tanh(%s)" % v, "M"
        if c == 5:
            return "%s * %s" % (x, v), "M"
        if c == 6:
            return "(%s @ %s)" % (self.param(["M", "M"]), v), "M"
        if c == 7:
            table = g("E", ["G", "M"])
            return "%s[%s[%s]]" % (table, g(self.key("doc"), [self.keys], "int"), at), "M"
        return "(%s where %s)" % (v, self.mask().replace("[j]", "[%s]" % at)), "M"

    # --- whole forms

    def attention(self):
        r, g = self.r, self.given
        K = self.keys
        h = self.chance(0.3)
        head, heads = ("h, ", ["P"]) if h else ("", [])
        c, s = self.condition(), self.score(h)
        y = self.fresh()
        (v, dim), more = self.value(), []
        out = heads + ["T"] + ([dim] if dim else [])
        form = r.randrange(11)
        norm = "softmax[j%s](%s)" % (self.where(c), s) if r.random() < 0.8 else \
            "normalize[j%s](exp(0.3 * (%s)))" % (self.where(c), s)
        left = "%s[%si in T]" % (y, head)
        add = self.lines.append
        if form <= 1:
            factor = r.choice(["", "", "0.5 * ", g("x", ["T"]) + "[i] * "])
            add("%s = sum[j in %s](%s%s * %s)" % (left, K, factor, norm, v))
        elif form == 2:  # stored weights, several sums
            a, z = self.fresh("a"), self.fresh()
            add("%s[%si in T, j in %s] = %s" % (a, head, K, norm))
            w, wdim = self.value()
            add("%s = sum[j](%s[%si, j] * %s)" % (left, a, head, v))
            add("%s[%si in T] = sum[j](%s[%si, j] * %s)" % (z, head, a, head, w))
            self.result(z, heads + ["T"] + ([wdim] if wdim else []))
            if self.chance(0.5):
                self.result(a, heads + ["T", K])
        elif form == 3:  # by hand
            m, e = self.fresh("m"), self.fresh("e")
            add("%s[%si in T] = max[j in %s%s](%s) else 0" % (m, head, K, self.where(c), s))
            add("%s[%si in T, j in %s] = exp(%s - %s[%si])%s" % (e, head, K, s, m, head, self.where(c)))
            form = r.randrange(3)
            if form == 0:
                add("%s = sum[j](%s[%si, j] * %s) / (sum[j](%s[%si, j]) + 0.001)" % (
                    left, e, head, v, e, head))
            elif form == 1:
                z = self.fresh("z")
                add("%s[%si in T] = max(sum[j](%s[%si, j]), 0.5)" % (z, head, e, head))
                add("%s = sum[j](%s[%si, j] / %s[%si] * %s)" % (left, e, head, z, head, v))
            else:
                add("%s = sum[j](%s[%si, j] * %s)" % (left, e, head, v))
                z = self.fresh()
                add("%s[%si in T] = sum[j](%s[%si, j])" % (z, head, e, head))
                self.result(z, heads + ["T"])
        elif form == 4:  # a kernel
            e = self.fresh("e")
            add("%s[%si in T, j in %s] = exp(%s)%s" % (e, head, K, s, self.where(c)))
            add("%s = sum[j](%s[%si, j] * %s) / (1 + sum[j](%s[%si, j]))" % (
                left, e, head, v, e, head))
        elif form == 5:  # with statistics of the scores
            e, z, m = self.fresh("s"), self.fresh(), self.fresh()
            add("%s[%si in T, j in %s] = %s" % (e, head, K, s))
            at = "%s[%si, j]" % (e, head)
            add("%s = sum[j](softmax[j%s](%s) * %s)" % (left, self.where(c), at, v))
            add("%s[%si in T] = logsumexp[j%s](%s)" % (z, head, self.where(c), at))
            add("%s[%si in T] = max[j%s](%s) else -1" % (m, head, self.where(c), at))
            self.result(z, heads + ["T"])
            if self.chance(0.6):
                self.result(m, heads + ["T"])
        elif form == 6:  # conditions on the sum, of the rows
            b = self.condition(1)
            add("%s = sum[j in %s where %s](%s * %s)%s" % (
                left, K, b, norm, v, " where i %% %d != 0" % r.choice([2, 5])
                if self.chance(0.5) else ""))
        elif form == 7:  # a sum over more indices than the weights bind
            u = g(self.key("u"), [K, "G"])
            add("%s = sum[j in %s, p in G](%s * %s[j, p]%s)" % (
                left, K, norm, u, " * " + g(self.key("x"), [K]) + "[j]" if self.chance(0.4) else ""))
            out = heads + ["T"]
        elif form == 8:  # a sink
            z = self.param(["P"]) if h else self.param([])
            sink = "%s[h]" % z if h else z
            m = self.fresh("m")
            add("%s[%si in T] = max(max[j in %s%s](%s) else %s, %s)" % (
                m, head, K, self.where(c), s, sink, sink))
            add("%s = sum[j in %s%s](exp(%s - %s[%si]) * %s) / (exp(%s - %s[%si]) + sum[j in %s%s]("
                "exp(%s - %s[%si])))" % (left, K, self.where(c), s, m, head, v, sink, m, head, K,
                                         self.where(c), s, m, head))
        elif form == 9:  # groups of queries share a key
            g("qg", ["P", "G", "T", "D"])
            kg, vg = g(self.key("kg"), ["G", K, "D"]), g(self.key("vg"), ["G", K, "M"])
            add("%s[h, p, i in T] = sum[j in %s](softmax[j%s](dot(qg[h, p, i], %s[p, j])) * %s[p, j])" % (
                y, K, self.where(c), kg, vg))
            out = ["P", "G", "T", "M"]
        else:  # weights of one index, summed over the other
            if self.steps:
                return self.dense()
            a = self.fresh("a")
            add("%s[%si in T, j in %s] = %s" % (a, head, K, norm))
            add("%s[%sj in %s] = sum[i in T](%s[%si, j] * %s[i])" % (
                y, head, K, a, head, g("v", ["T", "M"])))
            out = heads + [K, "M"]
        self.result(y, out)
        if len(out) > 1 and out[-1] == "M" and out[-2] == "T" and self.chance(0.3):
            z = self.fresh()
            at = "h, " * len(heads) if len(out) == 3 else "" if len(out) == 2 else "h, p, "
            self.lines.append("%s[%si in T] = tanh(%s @ %s[%si])" % (
                z, at, self.param(["D", "M"]), y, at))
            self.result(z, out[:-1] + ["D"])

    def dense(self):
        """Projections, products of matrices, norms."""
        r, g = self.r, self.given
        y = self.fresh()
        g("v", ["T", "M"])
        c = r.randrange(5)
        if c == 0:
            self.lines.append("%s[i] = %s @ v[i] + %s" % (y, self.param(["D", "M"]), self.param(["D"])))
        elif c == 1:
            z = self.fresh("z")
            self.lines.append("%s[i] = tanh(%s @ [v[i]; q[i]])" % (z, self.param(["D", "M + D"])))
            self.lines.append("%s[i] = %s @ (%s[i] * q[i])" % (y, self.param(["D", "D"]), z))
            g("q", ["T", "D"])
        elif c == 2:
            m, z = self.fresh("m"), self.fresh("z")
            self.lines.append("%s[i] = mean[e](v[i, e])" % m)
            self.lines.append("%s[i, e] = (v[i, e] - %s[i]) / sqrt(mean[f](v[i, f]^2) + 0.1)" % (z, m))
            self.lines.append("%s[i] = %s @ %s[i]" % (y, self.param(["D", "M"]), z))
        elif c == 3 and not self.steps:
            self.lines.append("%s[a in M, d in D] = sum[i in T where i %% 3 != 1](v[i, a] * q[i, d])" % y)
            g("q", ["T", "D"])
            return self.result(y, ["M", "D"])
        else:
            g("at", ["T"], "int")
            self.lines.append("%s[i] = %s @ v[i] where at[i] > 3" % (y, self.param(["D", "M"])))
        self.result(y, ["T", "D"])

    def window(self):
        y, w = self.fresh(), self.param(["G", "D", "M"])
        self.given("v", ["T", "M"])
        self.lines.append("%s[i] = sum[d in G](%s[d] @ v[i - d] else 0)" % (y, w))
        self.result(y, ["T", "D"])

    def history(self):
        """A recurrence that attends to what it was."""
        r, g = self.r, self.given
        y, c = self.fresh(), self.fresh()
        W, U = self.param(["M", "M"]), self.param(["M", "M"])
        g("v", ["T", "M"])
        form = r.randrange(5)
        add = self.lines.append
        add("%s[-1] = 0" % y)
        add("%s: [T, M]" % y)
        if form == 0:
            add("%s[i] = tanh(%s @ v[i] + %s @ %s[i-1])" % (y, W, U, y))
        elif form == 1:
            add("%s[i] = tanh(v[i] + %s @ %s[i-1] + sum[j in T](softmax[j where j < i%s](dot(%s @ v[i],"
                " %s[j])) * %s[j]))" % (y, U, y, self.r.choice(["", " and i - j < 5", " and " +
                                        self.mask().replace("[i]", "[i]") if self.keys == "T" else ""]),
                                        W, y, y))
        elif form == 2:
            self.given("at", ["T"], "int")
            add("%s[i] = tanh(%s @ v[i] + %s @ %s[i-1]) where i < at[i] else %s[i-1]" % (y, W, U, y, y))
        elif form == 3:
            add("%s[-1] = 0" % c)
            add("%s: [T, M]" % c)
            add("%s[i] = tanh(%s @ v[i] + %s @ %s[i-1])" % (y, W, U, c))
            add("%s[i] = sum[j in T](softmax[j <= i](dot(%s[i], %s[j])) * %s[j])" % (c, y, y, y))
            self.result(c, ["T", "M"])
        else:  # by counts of its own past
            n = self.fresh("n")
            add("%s: int[T]" % n)
            add("%s[i] = count[j in T where j < i and %s[j] %% 2 == 0](true) + %s[i]" % (
                n, n, g("at", ["T"], "int")))
            add("%s[i] = tanh(%s @ %s[i-1] + v[i] where %s[i] > 3) else %s[i-1] * 0.5" % (y, U, y, n, y))
        self.result(y, ["T", "M"])

    # --- text and data

    def text(self):
        names = {n for n, _ in self.results}
        lines = [x for x in self.lines if x.split(":")[0] not in names or "=" in x]
        ins = []
        for n, (axes, scalar) in self.inputs.items():
            ins.append("n: int = %s" % self.keys if n == "n" else "%s: %s[%s]" % (
                n, "" if scalar == "real" else scalar, ", ".join(axes)))
        out = ["# seed %d; %s" % (self.seed, " ".join("%s=%d" % d for d in self.dims.items()))]
        out.append("%s main_(%s)" % ("recurrence" if self.steps else "encoder", ", ".join(ins)))
        out.append("    -> (%s) {" % ", ".join("%s: %s" % (
            n, "[%s]" % ", ".join(a) if a else "real") for n, a in self.results))
        out += ["  param %s: %s" % (n, "[%s]" % ", ".join(a) if a else "real")
                for n, a in self.params.items()]
        out += ["  " + x for x in lines] + ["}"]
        out.append("model run%s = main_" % ("[B]" if self.batch else ""))
        return "\n".join(out) + "\n"

    def shape(self, axes):
        return [eval(a, {}, self.dims) for a in axes or []]

    def data(self):
        r, d = self.r, self.dims
        self.ins, self.weights = {}, {}
        lead = [self.batch] if self.batch else []
        hurt = self.chance(0.1)  # rows past the length are NaN, and must not be read
        for n, (axes, scalar) in self.inputs.items():
            if n == "n" and self.chance(0.2):
                continue
            shape = lead + self.shape(axes)
            count = math.prod(shape)
            if n.startswith("doc"):
                flat = [r.randrange(d["G"]) for _ in range(count)]
            elif scalar == "int":
                flat = [r.randint(0, d[self.keys]) for _ in range(count)]
            elif scalar == "bool":
                p = r.choice([0.1, 0.5, 0.9])
                flat = [r.random() < p for _ in range(count)]
            else:
                flat = [r.uniform(-1, 1) for _ in range(count)]
                if hurt and count and self.chance(0.3):
                    flat[r.randrange(count)] = math.nan
            self.ins[n] = (scalar, shape, flat)
        for n, axes in self.params.items():
            shape = self.shape(axes)
            most = 1.2 / math.sqrt(max(shape[-1:] + [1]))  # recurrences that forget, or f32 wanders off
            self.weights[n] = ("real", shape, [r.uniform(-most, most) for _ in range(math.prod(shape))])

    def files(self, folder):
        write_tensors(folder + "/in.safetensors", self.ins)
        write_tensors(folder + "/w.safetensors", self.weights)
        with open(folder + "/p.attn", "w") as f:
            f.write(self.text())


def routes(p, threads=3):
    """Name, options, tolerance against the interpreter, or the route whose bits it must have."""
    out = [("jit", ["--real", "f64"], 1e-9),
           ("nopass", ["--real", "f64", "--pass-limit", "0", "-O1"], 1e-9),
           ("f32", [], 2e-3), ("threads", ["--threads", str(threads)], "f32"),
           ("again", [], "f32")]
    if p.steps:
        r = random.Random(p.seed)
        rows = r.choice(["1", "2,1", "3,5,1", str(p.dims["T"] or 1), "17"])
        out += [("steps", ["--real", "f64", "--steps=" + rows], 1e-9),
                ("steps32", ["--threads", "2", "--steps=" + rows], 2e-3)]
    return out


def near(a, b, tol):
    if a != a or b != b:
        return a != a and b != b
    return a == b or abs(a - b) <= tol * max(1.0, abs(a))


def run(attnc, folder, p, more, timeout):
    out = folder + "/out.safetensors"
    if os.path.exists(out):
        os.unlink(out)
    cmd = [attnc, "run", folder + "/p.attn", "-i", folder + "/in.safetensors", "-w",
           folder + "/w.safetensors", "-o", out]
    for d, n in p.dims.items():  # a size may be of a param or of nothing at all
        if re.search(r"\b%s\b" % d, re.sub("#.*", "", p.text())) and d == "G":
            cmd += ["-D", "%s=%d" % (d, n)]
    q = subprocess.run(cmd + more, capture_output=True, timeout=timeout)
    err = q.stderr.decode(errors="replace")
    return q.returncode, err, read_tensors(out) if q.returncode == 0 else None


def check(p, attnc, folder):
    """None, ("skip", why) or (kind, why)."""
    p.files(folder)
    try:
        code, err, want = run(attnc, folder, p, ["--interp", "--real", "f64"], 100)
    except subprocess.TimeoutExpired:
        return "skip", "the interpreter is too slow"
    if code:
        kind = "interp crash" if code != 1 else "refused"
        first = ([x for x in err.splitlines() if "error:" in x] or ["?"])[0].split("error:")[-1]
        return kind + ":" + re.sub(r"\b[a-zA-Z]*\d+", "#", first)[:60], err[:1500]
    results = {"interp": want}
    for name, more, tol in routes(p):
        try:
            code, err, got = run(attnc, folder, p, more, 100)
        except subprocess.TimeoutExpired:
            return name + " hangs", "100 s"
        if code:
            if name.startswith("steps") and "runs whole only" in err:
                continue
            return name + (" refuses" if code == 1 else " crash"), err[-1500:]
        results[name] = got
        exact = isinstance(tol, str)
        other = results[tol] if exact else want
        for n in other:
            bad = [k for k, (a, b) in enumerate(zip(other[n], got[n]))
                   if not (repr(a) == repr(b) if exact else near(a, b, tol))]
            if bad or len(other[n]) != len(got[n]):
                k = bad[0] if bad else 0
                return name + " value", "%s: %d of %d differ, first [%d]: %r, wanted %r" % (
                    n, len(bad), len(other[n]), k, got[n][k:k + 1], other[n][k:k + 1])
    return None


def smaller(p):
    """The same program with a result less, or with a size less: data are drawn anew."""
    for k in range(len(p.results)):
        if len(p.results) > 1:
            yield ("result", k)
    for d, n in p.dims.items():
        for m in sorted({1, 2, 4, n // 2, n - 1}):
            if 0 < m < n:
                yield (d, m)
    if p.batch:
        yield ("batch", None)


def changed(seed, edits):
    p = Form(seed)
    for what, k in edits:
        if what == "result":
            del p.results[k]
        elif what == "batch":
            p.batch = None
        else:
            p.dims[what] = k
    p.data()
    return p


def reduce(seed, kind, attnc, folder, budget):
    edits, progress = [], True
    while progress and budget > 0:
        progress = False
        for e in smaller(changed(seed, edits)):
            budget -= 1
            f = check(changed(seed, edits + [e]), attnc, folder)
            if f and f[0] == kind:
                edits, progress = edits + [e], True
                break
            if budget <= 0:
                break
    return changed(seed, edits)


def one(seed, args):
    with tempfile.TemporaryDirectory() as folder:
        p = Form(seed)
        f = check(p, args.attnc, folder)
        if f and f[0] != "skip" and args.reduce:
            p = reduce(seed, f[0], args.attnc, folder, args.reduce)
            f = check(p, args.attnc, folder) or f
        if f and f[0] != "skip" and args.keep:
            os.makedirs("%s/%d" % (args.keep, seed), exist_ok=True)
            p.files("%s/%d" % (args.keep, seed))
        return (seed, *(f or (None, "")), p.text())


def text_of(seed):
    return Form(seed).text()


if __name__ == "__main__":
    sys.exit(search(one, text_of, "too slow", 30))
