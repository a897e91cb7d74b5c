"""Attention under masks and modified scores (the gym's cases): every modification becomes a function
of the program, by the rules of expression.py; the attention around them is always the same.

    q: [B, (HKV, R), SQ, D]   R query heads share a key head
    h = g * R + r             the query head's number, as the modifications know it"""
import re

from expression import Translation
from program import Program, Skip, number

INDICES = ("b", "h", "i", "j")
SIZES = ("B", "HQ", "HKV", "SQ", "SKV")
# An argument of a modification: its type, and what the model passes for it.
ARGUMENTS = {"s": ("real", None), "b": ("int", "b"), "h": ("int", "g * R + r"), "i": ("int", "i"),
             "j": ("int", "j"), "B": ("int", "B"), "HQ": ("int", "HKV * R"),
             "HKV": ("int", "HKV"), "SQ": ("int", "SQ"), "SKV": ("int", "SKV")}
TABLE_TYPES = {"int": "I32", "real": "F32", "bool": "BOOL"}


def table_axes(text):
    """`int [B,query tiles]`: the kind, and the axes as names or expressions of the language."""
    kind, axes = re.fullmatch(r"(\w+) \[(.*)\]", text).groups()
    names = [a.strip() for a in axes.split(",")]
    return kind, [re.sub(r"(?<=\w) (?=\w)", "_", a) for a in names]


def constant(value):
    return number(value) if isinstance(value, float) else str(value)


class Modification:
    """One function of the program: its text and how it is called."""

    def __init__(self, about, use, tables, name):
        self.name = name
        self.about = about
        self.tables = tables  # name in the expressions: input of the model
        lines, free, known = [], [], set()
        self.modules = []
        for left, source in [*about["let"], (None, about["expr"])]:
            t = Translation(source)
            free += [n for n in t.free if n not in known and n not in free]
            self.modules += t.modules
            known.add(left)
            lines.append(f"{left} = {t.text}" if left else f"return {t.text}")
        consts = [f"const {n} = {constant(v)}" for n, v in use["params"].items()]
        self.arguments = [n for n in (*ARGUMENTS, *about["tables"]) if n in free]
        lost = [n for n in free if n not in self.arguments and n not in use["params"]]
        if lost:
            raise Skip(f"{about['id']} reads {', '.join(lost)}, which nothing defines")
        formals = ", ".join(f"{n}: {self.type(n)}" for n in self.arguments)
        body = "\n".join("  " + line for line in consts + lines)
        self.text = (f"# {about['title']}\n"
                     f"{about['kind']} {name}({formals}) {{\n{body}\n}}")

    def type(self, name):
        if name in ARGUMENTS:
            return ARGUMENTS[name][0]
        kind, axes = table_axes(self.about["tables"][name])
        return f"{'' if kind == 'real' else kind}[{', '.join(axes)}]"

    def call(self, score):
        passed = {n: text for n, (_, text) in ARGUMENTS.items()} | {"s": score} | self.tables
        return f"{self.name}({', '.join(passed[n] for n in self.arguments)})"

    def reads(self, name):
        return name in self.arguments


def generate(case, mods, tensors):
    """The program of a case; `tensors` are its inputs."""
    p = Program("Attention" + (" with " if case["mods"] else "")
                + ", ".join(m["mod"] for m in case["mods"])
                + (" and sinks" if case["sinks"] else "") + ".")
    q, k, v = tensors["q"], tensors["k"], tensors["v"]
    p.dim("HKV", case["HKV"])
    p.input("q", q.dtype, ["B", "(HKV, R)", "SQ", "D"], q)
    p.input("k", k.dtype, ["B", "HKV", "SKV", "D"], k)
    p.input("v", v.dtype, ["B", "HKV", "SKV", "DV"], v)
    scores, masks = [], []
    for use in case["mods"]:
        about = mods[use["mod"]]
        called = {}
        for table, key in use["tables"].items():
            kind, axes = table_axes(about["tables"][table])
            axes = ["HKV * R" if a == "HQ" else a for a in axes]
            called[table] = key if key not in p.wanted else key + "_table"
            if called[table] not in p.tensors:
                p.input(called[table], TABLE_TYPES[kind], axes, tensors[key])
        same = sum(m.about is about for m in scores + masks)
        m = Modification(about, use, called, about["id"] + ("" if not same else f"_{same + 1}"))
        (scores if about["kind"] == "score" else masks).append(m)
        p.function(m.text)
        for module in m.modules:
            p.use(module)

    score = "dot(q[b, g, r, i], k[b, g, j]) " + ("/ sqrt(D)" if case["scale"] is None
                                                  else f"* {number(case['scale'])}")
    p.equation("s[b, g, r, i, j]", score)
    last = "s"
    for n, m in enumerate(scores):
        name = f"s{n + 1}"
        p.equation(f"{name}[b, g, r, i, j]", m.call(f"{last}[b, g, r, i, j]"))
        last = name
    visible = " and ".join(m.call(None) for m in masks)
    over = f"j where {visible}" if masks else "j"
    p.equation("weights[b, g, r, i, j]", f"softmax[{over}]({last}[b, g, r, i, j])")
    lse = f"logsumexp[{over}]({last}[b, g, r, i, j])"
    p.equation("lse[b, g, r, i]", lse)
    value = "sum[j](weights[b, g, r, i, j] * v[b, g, j])"
    heads = ["B", "(HKV, R)", "SQ"]
    if case["sinks"]:
        p.use("std/nn.attn")
        p.input("sinks", "F32", ["(HKV, R)"], tensors["sinks"])
        p.equation("lse_with_sink[b, g, r, i]",
                   "sinks[g, r] + softplus(lse[b, g, r, i] - sinks[g, r])")
        value += " * sigmoid(lse[b, g, r, i] - sinks[g, r])"
    p.equation("out[b, g, r, i]", value)

    outputs = case["outputs"]
    types = {"out": heads + ["DV"], "lse": heads, "lse_with_sink": heads,
             "weights": heads + ["SKV"]}
    for name in outputs:
        if name == "mask":
            shape = outputs[name]["shape"]
            if shape[1] not in (1, case["HQ"]):
                raise Skip(f"a mask of {shape[1]} heads")
            heads_too = shape[1] > 1 or (case["HQ"] == 1 and any(m.reads("h") for m in masks))
            axes = ["B" if shape[0] > 1 else "1", "(HKV, R)" if heads_too else "1",
                    "SQ" if shape[2] > 1 else "1", "SKV" if shape[3] > 1 else "1"]
            p.result("mask", "BOOL", axes, name)
            index = ["b", "g, r" if heads_too else "h1", "i", "j"]
            p.equation(f"mask[{', '.join(index)}]", visible)
        elif name in types:
            p.result(name, outputs[name]["dtype"], types[name], name)
        else:
            raise Skip(f"no rule for the result {name}")
    return p
