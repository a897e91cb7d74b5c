"""Attention under masks and modified scores (the gym's cases): every modification becomes a
function of the program, by the rules of expression.py; the attention around them is always the
same."""
import re

from expression import Translation
from heads import Heads
from program import Program, Skip, comment, number

# What a modification can read besides its tables and params, and of which type it is.
ARGUMENTS = {"s": "real",
             **dict.fromkeys(("b", "h", "i", "j", "B", "HQ", "HKV", "SQ", "SKV"), "int")}
# Names of the model: a table may not have them.
NAMES = ("q", "k", "v", "s", "out", "lse", "lse_with_sink", "sinks", "weights", "mask")
TABLE_TYPES = {"int": "I32", "real": "F32", "bool": "BOOL"}


def table_axes(text):
    """`int [B,query tiles]`: the kind, and the axes as names or expressions of the language."""
    kind, axes = re.fullmatch(r"(\w+) \[(.*)\]", text).groups()
    names = [a.strip() for a in axes.split(",")]
    return kind, [re.sub(r"(?<=\w) (?=\w)", "_", a) for a in names]


def at(name, index):
    return f"{name}[{', '.join(index)}]"


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
        self.text = (comment(about["title"]) +
                     f"\n{about['kind']} {name}({formals}) {{\n{body}\n}}")

    def type(self, name):
        if name in ARGUMENTS:
            return ARGUMENTS[name]
        kind, axes = table_axes(self.about["tables"][name])
        return f"{'' if kind == 'real' else kind}[{', '.join(axes)}]"

    def call(self, score, heads):
        passed = {n: n for n in ARGUMENTS} | {"s": score, "h": heads.number, "HQ": heads.count,
                                              "HKV": heads.key} | self.tables
        return f"{self.name}({', '.join(passed[n] for n in self.arguments)})"

    def reads(self, name):
        return name in self.arguments


def generate(case, mods, tensors):
    """The program of a case; `tensors` are its inputs."""
    p = Program("Attention" + (" with " if case["mods"] else "")
                + ", ".join(m["mod"] for m in case["mods"])
                + (" and sinks" if case["sinks"] else "") + ".")
    q, k, v = tensors["q"], tensors["k"], tensors["v"]
    heads = Heads(case["HQ"], case["HKV"], ("HQ", "HKV", "GROUP"))
    if not heads.same:
        p.dim("HKV", case["HKV"])
    p.input("q", q.dtype, ["B", heads.axis, "SQ", "D"], q)
    p.input("k", k.dtype, ["B", heads.key, "SKV", "D"], k)
    p.input("v", v.dtype, ["B", heads.key, "SKV", "DV"], v)
    scores, masks = [], []
    for use in case["mods"]:
        about = mods[use["mod"]]
        called = {}
        for table, key in use["tables"].items():
            kind, axes = table_axes(about["tables"][table])
            axes = [heads.count if a == "HQ" else heads.key if a == "HKV" else a for a in axes]
            called[table] = key if key not in NAMES else key + "_table"
            if called[table] not in p.tensors:
                p.input(called[table], TABLE_TYPES[kind], axes, tensors[key])
        same = sum(m.about is about for m in scores + masks)
        m = Modification(about, use, called, about["id"] + ("" if not same else f"_{same + 1}"))
        (scores if about["kind"] == "score" else masks).append(m)
        p.function(m.text)
        for module in m.modules:
            p.use(module)

    row, score = ["b", *heads.index, "i"], ["b", *heads.index, "i", "j"]
    key = ["b", heads.key_index, "j"]
    p.equation(at("s", score), f"dot({at('q', row)}, {at('k', key)}) "
               + ("/ sqrt(D)" if case["scale"] is None else f"* {number(case['scale'])}"))
    last = "s"
    for n, m in enumerate(scores):
        p.equation(at(f"s{n + 1}", score), m.call(at(last, score), heads))
        last = f"s{n + 1}"
    visible = " and ".join(m.call(None, heads) for m in masks)
    over = f"j where {visible}" if masks else "j"
    weights = f"softmax[{over}]({at(last, score)})"
    p.equation(at("lse", row), f"logsumexp[{over}]({at(last, score)})")
    if case["sinks"]:
        p.use("std/nn.attn")
        p.input("sinks", "F32", [heads.axis], tensors["sinks"])
        sink = at("sinks", heads.index)
        p.equation(at("lse_with_sink", row), f"{sink} + softplus({at('lse', row)} - {sink})")
        weights += f" * sigmoid({at('lse', row)} - {sink})"
    p.equation(at("weights", score), weights)
    p.equation(at("out", row), f"sum[j]({at('weights', score)} * {at('v', key)})")

    outputs = case["outputs"]
    rows = ["B", heads.axis, "SQ"]
    types = {"out": [*rows, "DV"], "lse": rows, "lse_with_sink": rows, "weights": [*rows, "SKV"]}
    for name in outputs:
        if name == "mask":
            shape = outputs[name]["shape"]
            if shape[1] not in (1, case["HQ"]):
                raise Skip(f"a mask of {shape[1]} heads")
            heads_too = shape[1] > 1 or (case["HQ"] == 1 and any(m.reads("h") for m in masks))
            axes = ["B" if shape[0] > 1 else "1", heads.axis if heads_too else "1",
                    "SQ" if shape[2] > 1 else "1", "SKV" if shape[3] > 1 else "1"]
            p.result("mask", "BOOL", axes, name)
            index = ["b", *(heads.index if heads_too else ["h1"]), "i", "j"]
            p.equation(at("mask", index), visible)
        elif name in types:
            p.result(name, outputs[name]["dtype"], types[name], name)
        else:
            raise Skip(f"no rule for the result {name}")
    return p
