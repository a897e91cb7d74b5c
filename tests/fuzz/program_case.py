"""program_case.py: one random program with its sizes and data, and the tensor files it is run on."""
import json
import math
import struct

from program_eval import (Given, Inst, Run)


class Program:
    def __init__(self, g, main):
        self.functions = dict(g.functions)
        self.functions["main_"] = main
        self.main, self.dims, self.batch, self.weights = main, g.dims, g.batch, g.weights
        self.seed, r = g.seed, g.r
        rows = 1 if g.batch is None else g.batch
        self.rows = []
        for _ in range(rows):
            row = {}
            for f in main.formals:
                if f.name == "ids":
                    row[f.name] = g.data(f.axes, lambda: r.randrange(g.dims["V"]))
                elif f.scalar == "bool":
                    row[f.name] = g.data(f.axes, lambda: r.random() < 0.5)
                elif f.scalar == "int":
                    row[f.name] = r.randint(0, g.dims[f.default])
                else:
                    row[f.name] = g.data(f.axes, g.real)
            self.rows.append(row)
        if g.chance(0.3) and "n" in g.lengths:  # padding
            for row in self.rows:
                for t in range(row["n"], g.dims["T"]):
                    row["x"][t] = [math.nan] * g.dims["E"]
        self.omit = {n for n in g.lengths if g.chance(0.2)}
        for row in self.rows:
            for n in self.omit:
                row[n] = g.dims[g.lengths[n]]

    def text(self):
        used, todo = [], [self.main]
        while todo:
            f = todo.pop()
            for name, other in self.functions.items():
                if other not in used and other is not self.main and \
                        any(name in s for s in [f.text()]):
                    used.append(other)
                    todo.append(other)
        out = ["# seed %d; %s" % (self.seed, " ".join(
            "%s=%d" % d for d in sorted(self.dims.items()))), ""]
        out += [f.text() for f in used] + [self.main.text()]
        out.append("model run%s = main_" % ("[B]" if self.batch is not None else ""))
        return "\n".join(out) + "\n"

    def expected(self):
        """Result name to a flat list per batch row."""
        out = {f.name: [] for f in self.main.results}
        for row in self.rows:
            run = Run(self.functions, self.dims, self.weights)
            given = [Given(row[f.name], len(f.axes), False) for f in self.main.formals]
            inst = Inst(run, self.main, None, given, "{}")
            for f in self.main.results:
                flat = []
                self.enumerate(inst, f, [], flat)
                out[f.name].append(flat)
        return out

    def enumerate(self, inst, f, at, flat):
        if len(at) == len(f.axes):
            v = inst.tensor(f.name).read(at)
            flat.append(0 if v is None else v)
            return
        n = eval(f.axes[len(at)], {}, self.dims)
        for i in range(n):
            self.enumerate(inst, f, at + [i], flat)

    def shape(self, axes):
        return [math.prod(self.dims[x] for x in a) if isinstance(a, tuple) else
                eval(a, {}, self.dims) for a in axes]

    def files(self, folder):
        ins, ws = {}, {}
        for f in self.main.formals:
            if f.name in self.omit:
                continue
            rows = [flatten(row[f.name]) for row in self.rows]
            lead = [] if self.batch is None else [self.batch]
            ins[f.name] = (f.scalar, lead + self.shape(f.axes), sum(rows, []))
        axes = {p.name: p.axes for f in self.functions.values() for p in f.params}
        for n, v in self.weights.items():
            inner = n if n in axes else n.split("_", 1)[-1] if "_" in n else n.split(".")[-1]
            ws[n] = ("real", self.shape(axes[inner]), flatten(v))
        write_tensors(folder + "/in.safetensors", ins)
        write_tensors(folder + "/w.safetensors", ws)
        with open(folder + "/p.attn", "w") as f:
            f.write(self.text())


def flatten(v):
    if not isinstance(v, list):
        return [v]
    return [y for x in v for y in flatten(x)]


# --- tensor files

PACK = {"real": ("F64", "d"), "int": ("I64", "q"), "bool": ("BOOL", "?")}


def write_tensors(path, tensors):
    head, blob = {}, b""
    for n, (scalar, shape, flat) in tensors.items():
        name, code = PACK[scalar]
        raw = struct.pack("<%d%s" % (len(flat), code), *flat)
        head[n] = {"dtype": name, "shape": shape, "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + blob)


def read_tensors(path):
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head = json.loads(f.read(n))
        blob = f.read()
    out = {}
    code = {"F64": "d", "F32": "f", "I64": "q", "BOOL": "?"}
    for name, t in head.items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            c = code[t["dtype"]]
            out[name] = list(struct.unpack("<%d%s" % ((b - a) // struct.calcsize(c), c), blob[a:b]))
    return out
