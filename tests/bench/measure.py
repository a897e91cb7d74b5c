#!/usr/bin/env python3
"""measure.py growth | masks | memory [--build FOLDER]: what attnc promises of work and memory, measured.

growth   a recurrence that attends to its own past takes T^2 H + T H^2 instructions, not T^2 H^2: counted at three
         lengths and three widths, the coefficients that fit best, and how the count grows where both double (8 times
         at most; T^2 H^2 would be 16)
masks    causal attention at S = 4096 takes at most 55 % of the instructions of full attention, a window of 256 15 %
memory   attention of 65 536 queries to 65 536 keys, and additive attention of 2048 to 65 536 (one head of 64), keep
         the whole process under 200 MB

Each program is built as an object and called once by bench-call. Instructions are those of the call alone, counted by
valgrind's callgrind; code is for x86-64-v3, as valgrind knows no AVX-512. Exit code 1 if a promise is not kept.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENGTHS, WIDTHS = (64, 128, 256), (64, 128, 256)
PROGRAMS = [  # file, model, and the dims that are as large as the state
    ("examples/rnn_self_attention.attn", "run", "DH"),
    ("examples/rnn_self_attention.attn", "run_xhc_additive", "DHA"),
    ("examples/lstmn.attn", "run", "DHA"),
    ("tests/bench/lstmn.attn", "run", "H"),
]
MOST_OFF = 0.05  # of the fit


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


class Host:
    def __init__(self, build, folder):
        self.attnc, self.call = (os.path.join(build, name) for name in ("attnc", "bench-call"))
        self.folder, self.built = folder, {}

    def library(self, file, model, defines):
        key = file, model, tuple(defines)
        if key not in self.built:
            path = os.path.join(self.folder, f"lib{len(self.built)}.so")
            run([self.attnc, "build", os.path.join(ROOT, file), "--entry", model, "--target-cpu", "x86-64-v3",
                 "-o", path] + [x for d in defines for x in ("-D", d)])
            self.built[key] = path
        return self.built[key]

    def instructions(self, file, model, dims, defines=()):
        library = self.library(file, model, defines)
        done = run(["valgrind", "--tool=callgrind", "--toggle-collect=measured*", "--callgrind-out-file=/dev/null",
                    self.call, library, model] + [f"{k}={v}" for k, v in dims.items()])
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))

    def memory(self, file, model, dims, defines=()):
        library = self.library(file, model, defines)
        words = run([self.call, library, model] + [f"{k}={v}" for k, v in dims.items()]).stdout.split()
        return dict(zip(words[::2], map(int, words[1::2])))


def solve(rows, right):
    """The x with rows x = right."""
    n = len(rows)
    m = [list(r) + [y] for r, y in zip(rows, right)]
    for i in range(n):
        best = max(range(i, n), key=lambda k: abs(m[k][i]))
        m[i], m[best] = m[best], m[i]
        for k in range(n):
            if k != i:
                by = m[k][i] / m[i][i]
                m[k] = [a - by * b for a, b in zip(m[k], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit(points, terms):
    """Coefficients of the terms with the least sum of squared relative errors; the largest of these errors."""
    scaled = [[f(*at) / count for f in terms] for at, count in points]
    normal = [[sum(r[i] * r[j] for r in scaled) for j in range(len(terms))] for i in range(len(terms))]
    x = solve(normal, [sum(r[i] for r in scaled) for i in range(len(terms))])
    return x, max(abs(sum(a * b for a, b in zip(r, x)) - 1) for r in scaled)


def growth(host):
    kept = True
    good = [lambda T, H: T * T * H, lambda T, H: T * H * H, lambda T, H: T * H, lambda T, H: T * T]
    for file, model, wide in PROGRAMS:
        print(f"{file}, {model}: instructions")
        points = []
        for H in WIDTHS:
            for T in LENGTHS:
                dims = {"B": 1, "T": T, **{d: H for d in wide}}
                points.append(((T, H), host.instructions(file, model, dims)))
                print(f"  T {T:4}  H {H:4}  {points[-1][1]:14,}")
        x, off = fit(points, good)
        print(f"  = {x[0]:.3f} T^2 H + {x[1]:.3f} T H^2 + {x[2]:.1f} T H + {x[3]:.1f} T^2, to {100 * off:.1f} %")
        counts = dict(points)
        grown = [n / counts[T // 2, H // 2] for (T, H), n in points if (T // 2, H // 2) in counts]
        ok = max(grown) <= 8 and off < MOST_OFF
        print(f"  where both double: {', '.join(f'{x:.2f}' for x in grown)} times  {'ok' if ok else 'TOO MUCH'}")
        kept = kept and ok
    return kept


def masks(host):
    dims, fixed = {"B": 1, "Sq": 4096, "Skv": 4096}, ("G=1", "R=1", "D=64")
    full, kept = None, True
    for model, most in (("run", 100), ("run_causal", 55), ("run_window", 15)):
        n = host.instructions("tests/bench/sdpa.attn", model, dims, fixed)
        full = full or n
        ok = 100 * n <= most * full
        print(f"{model:12}{n:16,}  {100 * n / full:6.2f} %  of at most {most} %  {'ok' if ok else 'TOO MANY'}")
        kept = kept and ok
    return kept


def memory(host):
    kept = True
    for name, file, dims, fixed in (
            ("dot product, 65536 x 65536", "tests/bench/sdpa.attn", {"B": 1, "Sq": 65536, "Skv": 65536},
             ("G=1", "R=1", "D=64")),
            ("additive, 2048 x 65536", "tests/bench/additive.attn", {"T": 2048, "S": 65536}, ("H=64",))):
        m = host.memory(file, "run", dims, fixed)
        ok = m["PEAK"] * 1024 < 200e6
        print(f"{name:28}{m['PEAK'] * 1024 / 1e6:7.1f} MB at most, of it {m['TENSORS'] / 1e6:.1f} tensors and "
              f"{(m['WORKSPACE'] + m['PREPARED']) / 1e6:.1f} workspace  {'ok' if ok else 'TOO MUCH'}")
        kept = kept and ok
    return kept


def main():
    what = {"growth": growth, "masks": masks, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=what)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if what[args.what](Host(os.path.abspath(args.build), folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
