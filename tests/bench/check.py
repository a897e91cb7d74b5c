#!/usr/bin/env python3
"""bench-worker answers every kind of case rightly: tests/bench/check.py BENCH_WORKER

Small cases of every kind, the result of each compared with the same mathematics in plain Python. The cases, their
names and layouts are those of the drivers that bench-worker is made for.
"""
import array
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile


class Tensor:
    def __init__(self, rng, *shape, scale=1.0):
        self.shape = shape
        self.data = array.array("f", (scale * rng.uniform(-1, 1) for _ in range(math.prod(shape))))

    def __call__(self, *index):
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.data[at]

    def row(self, *index):
        """What is left behind the given indices, as a flat list."""
        left = math.prod(self.shape[len(index):])
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.data[at * left:(at + 1) * left].tolist()


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def times(m, x):
    """A matrix, given as a list of rows, by a vector."""
    return [dot(row, x) for row in m]


def rows(t, *index):
    return [t.row(*index, i) for i in range(t.shape[len(index)])]


def turned(m):
    return [list(column) for column in zip(*m)]


def mix(scores, values):
    """The mean of the values under softmax of the scores."""
    top = max(scores)
    w = [math.exp(e - top) for e in scores]
    return [dot(w, column) / sum(w) for column in zip(*values)]


def add(*vectors):
    return [sum(x) for x in zip(*vectors)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def cell(kind, W, U, b, c, x, state):
    """One step of torch's cells; `state` is (h, c). Returns the new one."""
    h, memory = state
    n = len(h)
    a, r = add(times(W, x), b), add(times(U, h), c)
    if kind == "rnn":
        return [math.tanh(v) for v in add(a, r)], memory
    if kind == "gru":
        out = []
        for i in range(n):
            reset, keep = sigmoid(a[i] + r[i]), sigmoid(a[n + i] + r[n + i])
            new = math.tanh(a[2 * n + i] + reset * r[2 * n + i])
            out.append((1 - keep) * new + keep * h[i])
        return out, memory
    z = add(a, r)
    memory = [sigmoid(z[n + i]) * memory[i] + sigmoid(z[i]) * math.tanh(z[2 * n + i]) for i in range(n)]
    return [sigmoid(z[3 * n + i]) * math.tanh(memory[i]) for i in range(n)], memory


def sdpa(rng, k):
    B, H, G, Sq, Sk, D = (k[x] for x in ("B", "H", "Hkv", "Sq", "Skv", "D"))
    t = {"q": Tensor(rng, B, H, Sq, D), "k": Tensor(rng, B, G, Sk, D), "v": Tensor(rng, B, G, Sk, D)}
    out = []
    for b, h, i in itertools.product(range(B), range(H), range(Sq)):
        at, g, seen, e = i + Sk - Sq, h // (H // G), [], []
        for j in range(Sk):
            if (k["causal"] and j > at) or (k["window"] and j <= at - k["window"]):
                continue
            s = dot(t["q"].row(b, h, i), t["k"].row(b, g, j)) / math.sqrt(D)
            if k["softcap"]:
                s = k["softcap"] * math.tanh(s / k["softcap"])
            if k["alibi"]:
                s -= 2 ** (-8 / H * (h + 1)) * (at - j)
            seen.append(t["v"].row(b, g, j))
            e.append(s)
        out += mix(e, seen)
    return t, out


def gemm(rng, k):
    n, M, N, K = k["n"], k["M"], k["N"], k["K"]
    t = {"a": Tensor(rng, n, M, K), "b": Tensor(rng, n, *((N, K) if k["tb"] else (K, N)))}
    out = []
    for i in range(n):
        right = rows(t["b"], i) if k["tb"] else turned(rows(t["b"], i))
        for j in range(M):
            out += times(right, t["a"].row(i, j))
    return t, out


def additive(rng, k):
    S, H = k["S"], k["H"]
    t = {n: Tensor(rng, S, H) for n in "qkv"}
    t.update(wq=Tensor(rng, H, H), wk=Tensor(rng, H, H), vv=Tensor(rng, H))
    wq, wk, vv = turned(rows(t["wq"])), turned(rows(t["wk"])), t["vv"].row()
    keys = [times(wk, x) for x in rows(t["k"])]
    out = []
    for q in rows(t["q"]):
        q = times(wq, q)
        out += mix([dot(vv, [math.tanh(x) for x in add(q, key)]) for key in keys], rows(t["v"]))
    return t, out


def cosine(rng, k):
    H, S, D = k["H"], k["S"], k["D"]
    t = {n: Tensor(rng, 1, H, S, D) for n in "qkv"}
    out = []
    for h, i in itertools.product(range(H), range(S)):
        q = t["q"].row(0, h, i)
        e = [k["tau"] * dot(q, x) / (math.hypot(*q) * math.hypot(*x)) for x in rows(t["k"], 0, h)]
        out += mix(e, rows(t["v"], 0, h))
    return t, out


def gauss(rng, k):
    n, d = k["n"], k["d"]
    t = {"x": Tensor(rng, n, d), "y": Tensor(rng, n, 1)}
    x = rows(t["x"])
    out = []
    for a in x:
        out += mix([-k["gamma"] * math.dist(a, b) ** 2 for b in x], rows(t["y"]))
    return t, out


def recurrent(kind):
    def run(rng, k):
        T, B, H, ways = k["T"], k["B"], k["H"], 1 + k["bidir"]
        n = {"rnn": 1, "gru": 3, "lstm": 4}[kind] * H
        t = {"x": Tensor(rng, T, B, H), "w_ih": Tensor(rng, ways, n, H), "w_hh": Tensor(rng, ways, n, H),
             "b_ih": Tensor(rng, ways, n), "b_hh": Tensor(rng, ways, n)}
        y = {}
        for way, b in itertools.product(range(ways), range(B)):
            state = [0.0] * H, [0.0] * H
            for step in reversed(range(T)) if way else range(T):
                state = cell(kind, rows(t["w_ih"], way), rows(t["w_hh"], way), t["b_ih"].row(way),
                             t["b_hh"].row(way), t["x"].row(step, b), state)
                y[step, b, way] = state[0]
        return t, sum((y[key] for key in itertools.product(range(T), range(B), range(ways))), [])
    return run


def bahdanau(rng, k):
    B, T, S, H = k["B"], k["T"], k["S"], k["H"]
    t = {"x": Tensor(rng, B, T, H), "enc": Tensor(rng, B, S, H), "w_ih": Tensor(rng, 3 * H, 2 * H),
         "w_hh": Tensor(rng, 3 * H, H), "b_ih": Tensor(rng, 3 * H), "b_hh": Tensor(rng, 3 * H),
         "wq": Tensor(rng, H, H), "wk": Tensor(rng, H, H), "vv": Tensor(rng, H)}
    wq, wk, vv = turned(rows(t["wq"])), turned(rows(t["wk"])), t["vv"].row()
    out = []
    for b in range(B):
        states = rows(t["enc"], b)
        keys = [times(wk, x) for x in states]
        h = [0.0] * H
        for i in range(T):
            q = times(wq, h)
            c = mix([dot(vv, [math.tanh(x) for x in add(q, key)]) for key in keys], states)
            h, _ = cell("gru", rows(t["w_ih"]), rows(t["w_hh"]), t["b_ih"].row(), t["b_hh"].row(),
                        t["x"].row(b, i) + c, (h, []))
            out += h
    return t, out


def lstmn(rng, k):
    B, T, H = k["B"], k["T"], k["H"]
    t = {"x": Tensor(rng, B, T, H), "A": Tensor(rng, 2 * H, H), "b": Tensor(rng, H)}
    A = turned(rows(t["A"]))
    out = []
    for b in range(B):
        past, c = [], [0.0] * H
        for i in range(T):
            h = [math.tanh(v) for v in add(times(A, t["x"].row(b, i) + c), t["b"].row())]
            past.append(h)
            c = mix([dot(h, x) / math.sqrt(H) for x in past], past)
            out += h
    return t, out


def bert(rng, k):
    B, S, D, F, heads = k["B"], k["S"], k["D"], k["F"], 12
    d = D // heads
    t = {"x": Tensor(rng, B, S, D)}
    for name, shape in dict(wqkv=(3 * D, D), bqkv=(3 * D,), wo=(D, D), bo=(D,), w1=(F, D), b1=(F,), w2=(D, F),
                            b2=(D,), g1=(D,), be1=(D,), g2=(D,), be2=(D,)).items():
        t[name] = Tensor(rng, *shape, scale=0.5)

    def norm(x, gain, bias):
        mean = sum(x) / D
        deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / D + 1e-5)
        return [(v - mean) / deviation * g + b for v, g, b in zip(x, t[gain].row(), t[bias].row())]

    out = []
    for b in range(B):
        z = [add(times(rows(t["wqkv"]), x), t["bqkv"].row()) for x in rows(t["x"], b)]
        for i in range(S):
            y = []
            for h in range(heads):
                def part(row, which):
                    return row[which * D + h * d:which * D + (h + 1) * d]
                e = [dot(part(z[i], 0), part(row, 1)) / math.sqrt(d) for row in z]
                y += mix(e, [part(row, 2) for row in z])
            u = norm(add(t["x"].row(b, i), times(rows(t["wo"]), y), t["bo"].row()), "g1", "be1")
            f = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in add(times(rows(t["w1"]), u), t["b1"].row())]
            out += norm(add(u, times(rows(t["w2"]), f), t["b2"].row()), "g2", "be2")
    return t, out


def attention(**more):
    k = dict(B=2, H=4, Hkv=4, Sq=7, Skv=7, D=5, causal=0, window=0, alibi=0, softcap=0.0)
    k.update(more)
    return "sdpa", sdpa, k


CASES = [attention(causal=c, window=w, alibi=a, softcap=s)
         for c, w, a, s in itertools.product((0, 1), (0, 3), (0, 1), (0.0, 2.5))]
CASES += [attention(Hkv=2, Sq=1, Skv=9), attention(Hkv=1, Sq=3, Skv=9, causal=1),
          attention(B=1, H=1, Hkv=1, Sq=1, Skv=1),
          attention(B=1, Sq=80, Skv=80, causal=1, D=16)]
CASES += [("gemm", gemm, dict(n=2, M=5, N=7, K=3, tb=tb)) for tb in (0, 1)]
CASES += [("additive", additive, dict(S=9, H=6)), ("cosine", cosine, dict(H=2, S=9, D=5, tau=10.0)),
          ("gauss", gauss, dict(n=20, d=3, gamma=0.5))]
CASES += [(kind, recurrent(kind), dict(T=6, B=B, H=5, bidir=both))
          for kind in ("rnn", "gru", "lstm") for B in (1, 3) for both in (0, 1)]
CASES += [("bahdanau", bahdanau, dict(B=2, T=4, S=5, H=6)), ("lstmn", lstmn, dict(B=2, T=7, H=6)),
          ("bert", bert, dict(B=2, S=5, D=24, F=10))]


class Worker:
    def __init__(self, path, threads):
        self.p = subprocess.Popen([path, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.p.stdout.readline().strip()

    def ask(self, order):
        self.p.stdin.write(order + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()


def write_case(folder, kind, keys, tensors):
    path = os.path.join(folder, "case")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"kind {kind}\nname {kind}\n")
        for key, value in keys.items():
            f.write(f"{key} {value}\n")
        for name, t in tensors.items():
            raw = os.path.join(folder, name + ".f32")
            with open(raw, "wb") as out:
                t.data.tofile(out)
            f.write(f"in {name} f32 {len(t.shape)} {' '.join(map(str, t.shape))} {raw}\n")
    return path


def main():
    faults = []
    workers = [Worker(sys.argv[1], n) for n in (1, 3)]
    for w in workers:
        if not w.ready.startswith("READY"):
            faults.append(f"it begins with {w.ready!r}")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        for number, (kind, make, keys) in enumerate(CASES):
            tensors, want = make(random.Random(number), keys)
            case = write_case(folder, kind, keys, tensors)
            seen = []
            # Masks and scores in all mixtures need not all be run on several threads.
            for w in workers if kind != "sdpa" or number % 4 == 0 else workers[:1]:
                said = [w.ask(f"prepare {case} native"), w.ask("output " + out)]
                if said != ["OK", "OK"]:
                    faults.append(f"{kind} {keys}: {said}")
                    continue
                have = array.array("f")
                with open(out, "rb") as f:
                    have.frombytes(f.read())
                seen.append(have.tobytes())
                off = max(abs(a - b) for a, b in zip(have, want)) if len(have) == len(want) else math.inf
                if not off <= 1e-4:
                    faults.append(f"{kind} {keys}: {len(have)} results, off by {off}")
            if len(set(seen)) > 1:
                faults.append(f"{kind} {keys}: not the same for every number of threads")
        w = workers[0]
        case = write_case(folder, "sdpa_train", dict(B=1), {})
        for order, want in ((f"time 0 2 2", "TIMES "), ("rssreset", "OK"), ("rss", "RSS "), ("release", "OK"),
                            ("time 0 1 1", "ERR "), (f"prepare {case} native", "UNSUPPORTED "),
                            ("prepare /nowhere/case native", "ERR "), ("sing", "ERR ")):
            said = w.ask(order)
            if not (said + " ").startswith(want):
                faults.append(f"{order}: {said!r}")
    for w in workers:
        w.p.stdin.write("quit\n")
        w.p.stdin.close()
        if w.p.wait(20) != 0:
            faults.append("it does not end well")
    for fault in faults:
        print(fault)
    print(f"{len(CASES)} cases, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
