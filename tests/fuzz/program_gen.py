#!/usr/bin/env python3
"""program_gen.py: random programs, typed by construction, run by every route of the compiler and by
the plain evaluator of program_eval.py; what disagrees is made small and printed.

    program_gen.py --attnc build/attnc --seed 1 --count 1000 [-j2] [--keep DIR]

Routes: the interpreter, JIT in f64 (with and without the optional passes) and in f32. NaN patterns
are compared before values. Slots past a length are poisoned with NaN, batches run several rows with
different data, sizes include 0 and 1. A program's seed alone gives it back (--seed N --count 1)."""
import copy
import math
import os
import re
import subprocess
import sys
import tempfile

from program_eval import (Idx, Num, OutOfRange, TooMuch)
from program_case import (read_tensors)
from program_make import (Gen)
from program_search import search

# --- running

ROUTES = [("interp", ["--interp", "--real", "f64"], 1e-9), ("jit", ["--real", "f64"], 1e-9),
          ("nopass", ["--real", "f64", "--disable-pass", "simplify", "-O1"], 1e-9),
          ("nochoice", ["--real", "f64", "--disable-pass", "domains,fuse-maps", "-O1"], 1e-9),
          ("f32", [], 3e-4)]


class Failure:
    def __init__(self, kind, text):
        self.kind, self.text = kind, text


def same(a, b, tol):
    if a != a or b != b:
        return a != a and b != b
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= tol * max(1.0, abs(a))


def check(p, attnc, folder, routes=ROUTES):
    """None, or the first failure. A program that means nothing (OutOfRange) is skipped."""
    try:
        want = p.expected()
    except (OutOfRange, TooMuch, RecursionError, OverflowError, KeyError, IndexError) as e:
        return Failure("skip", repr(e))
    p.files(folder)
    base = [attnc, "run", folder + "/p.attn", "-i", folder + "/in.safetensors", "-w",
            folder + "/w.safetensors", "-o", folder + "/out.safetensors", "-D",
            "L=%d" % p.dims["L"]]
    for name, more, tol in routes:
        try:
            os.unlink(folder + "/out.safetensors")
        except FileNotFoundError:
            pass
        try:
            q = subprocess.run(base + more, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return Failure(name + " hangs", "60 s")
        err = q.stderr.decode(errors="replace")
        if q.returncode not in (0, 1):
            return Failure(name + " crash", "%d\n%s" % (q.returncode, err[-2500:]))
        if q.returncode:
            first = [x for x in err.splitlines() if "error:" in x] or ["?"]
            first = re.sub(r"\b[a-z]*\d+", "#", first[0].split("error:")[-1].strip())
            return Failure(name + " refuses: " + first[:50], err[:1500])
        got = read_tensors(folder + "/out.safetensors")
        for n, rows in want.items():
            flat = [v for row in rows for v in row]
            if len(flat) != len(got[n]):
                return Failure(name + " shape", "%s: %d, wanted %d" % (n, len(got[n]), len(flat)))
            for i, (a, b) in enumerate(zip(flat, got[n])):
                if not same(a, b, tol):
                    return Failure(name + " value", "%s[%d]: %r, wanted %r\n got %r\n want %r" % (
                        n, i, b, a, got[n][:24], flat[:24]))
    return None


# --- making a failure small


def replace(root, path, new):
    root = copy.deepcopy(root)
    node = root
    for k in path[:-1]:
        node = node.kids[k]
    node.kids[path[-1]] = new
    return root


def paths(node, at=()):
    for k, c in enumerate(node.kids):
        yield at + (k,), c
        yield from paths(c, at + (k,))


def smaller(p):
    """Programs with a piece less."""
    f = p.main
    for k in range(len(f.results)):
        if len(f.results) > 1:
            q = copy.deepcopy(p)
            del q.main.results[k]
            yield q
    for k in range(len(f.body)):
        q = copy.deepcopy(p)
        del q.main.body[k]
        yield q
    for k in range(len(f.lines)):
        q = copy.deepcopy(p)
        del q.main.lines[k]
        yield q
    for k in range(len(f.params)):
        if f.params[k].name not in "".join(e.text() for e in f.body):
            q = copy.deepcopy(p)
            del q.main.params[k]
            yield q
    for k in range(len(f.formals)):
        if f.formals[k].name not in "".join(e.text() for e in f.body):
            q = copy.deepcopy(p)
            del q.main.formals[k]
            yield q
    if p.batch is not None:
        q = copy.deepcopy(p)
        q.batch, q.rows = None, q.rows[:1]
        if q.rows:
            yield q
    for fn in p.functions:
        for k, e in enumerate(p.functions[fn].body):
            for sub in e.rhs.kids:
                q = copy.deepcopy(p)
                q.functions[fn].body[k].rhs = copy.deepcopy(sub)
                q.main = q.functions["main_"]
                yield q
            for path, node in paths(e.rhs):
                for new in list(node.kids) + ([Num(1)] if not isinstance(node, (Num, Idx)) else []):
                    q = copy.deepcopy(p)
                    q.functions[fn].body[k].rhs = replace(e.rhs, path, copy.deepcopy(new))
                    q.main = q.functions["main_"]
                    yield q


def reduce(p, attnc, folder, kind, budget):
    routes = [r for r in ROUTES if kind.startswith(r[0])]
    best, progress = p, True
    while progress and budget > 0:
        progress = False
        for q in smaller(best):
            q.functions["main_"] = q.main
            budget -= 1
            if budget < 0:
                break
            try:
                f = check(q, attnc, folder, routes)
            except Exception:
                continue
            if f and f.kind == kind:
                best, progress = q, True
                break
    return best


def one(seed, args):
    with tempfile.TemporaryDirectory() as folder:
        p = Gen(seed).program()
        if p is None:
            return seed, "skip", "", ""
        f = check(p, args.attnc, folder)
        if f is None:
            return seed, None, "", ""
        if f.kind == "skip":
            return seed, "skip", f.text, ""
        text = p.text()
        if args.reduce:
            p = reduce(p, args.attnc, folder, f.kind, args.reduce)
            routes = [r for r in ROUTES if f.kind.startswith(r[0])]
            f = check(p, args.attnc, folder, routes) or f
            text = p.text()
        if args.keep:
            where = "%s/%d" % (args.keep, seed)
            os.makedirs(where, exist_ok=True)
            p.files(where)
        return seed, f.kind, f.text, text


def text_of(seed):
    p = Gen(seed).program()
    return p.text() if p else None


if __name__ == "__main__":
    sys.exit(search(one, text_of, "mean nothing", 150))
