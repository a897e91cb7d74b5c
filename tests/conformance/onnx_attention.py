"""Attention (opset 23 to 25) and FlexAttention.

    q: [B, (G, R), T, D]   k: [B, G, S, D]   v: [B, G, S, V]      (or H heads, see heads.py)
    q: [B, T, (G, R, D)]   k: [B, S, (G, D)] ...                  (operands of rank 3)

Equations: s the scaled product, e after softcap and mask, a the weights, y their sum of values."""
from heads import Heads
from onnx import at, stretched
from onnx_graph import modification
from program import Skip, number


class Layout:
    """How Q, K and V are declared and read, for either rank."""

    def __init__(self, op, p):
        self.flat = len(op.shape("Q")) == 3
        if self.flat:
            self.heads = Heads(op.attr("q_num_heads"), op.attr("kv_num_heads"))
        else:
            self.heads = Heads(op.shape("Q")[1], op.shape("K")[1])
            op.attr("q_num_heads"), op.attr("kv_num_heads")
        h = self.heads
        if self.flat or not h.same:
            h.declare(p)
        for role, name, length, size in (("Q", "q", "T", "D"), ("K", "k", "S", "D"),
                                         ("V", "v", "S", "V")):
            own = (h.axis, h.query) if role == "Q" else (h.key, h.key)
            op.input(p, role, name, ["B", length, f"({own[1]}, {size})"] if self.flat
                     else ["B", own[0], length, size])
        self.score = ["b", *h.index, "i", "j"]

    def q(self):
        return at("q", ["b", "i", *self.heads.index] if self.flat
                  else ["b", *self.heads.index, "i"])

    def new(self, name, j):
        """A key or value of the operands."""
        h = self.heads.key_index
        return at(name, ["b", j, h] if self.flat else ["b", h, j])

    def all(self, name, j):
        """A key or value of past and operands together."""
        return at(name, ["b", self.heads.key_index, j])

    def result(self, op, p, weight, value):
        """y, as the operator lays it out."""
        h = self.heads
        if not self.flat:
            op.result(p, "Y", "y", ["B", h.axis, "T", "V"])
            p.equation(at("y", ["b", *h.index, "i"]), f"sum[j]({weight} * {value})")
        else:
            op.result(p, "Y", "y", ["B", "T", f"({h.query}, V)"])
            p.equation(at("y", ["b", "i", *h.index, "d"]), f"sum[j]({weight} * {value[:-1]}, d])")


def scaled(op, p):
    """The product, scaled."""
    scale = op.attr("scale")
    if scale is None:
        return "{} / sqrt(D)"
    p.const("scale", number(scale))
    return "{} * scale"


def mask_shape(op):
    """(attn_mask's shape, that of the scores [B, heads, T, keys], is its last axis too short?)"""
    rank = len(op.shape("Q"))
    new, past = op.shape("K")[2 if rank == 4 else 1], 0
    if op.has("past_key"):
        past = op.shape("past_key")[2]
    heads_q = op.shape("Q")[1] if rank == 4 else op.attr("q_num_heads")
    full = [op.shape("Q")[0], heads_q, op.shape("Q")[2 if rank == 4 else 1], new + past]
    shape = op.shape("attn_mask")
    if not 1 <= len(shape) <= 4:
        raise Skip(f"a mask of rank {len(shape)}")
    return shape, full, shape[-1] not in (1, full[-1])


def mask_read(op, p, heads, keys):
    """attn_mask at a score: stretched, and hiding the keys beyond its last axis."""
    shape, full, short = mask_shape(op)
    own, place = stretched([*shape[:-1], full[-1]] if short else shape, full,
                           ["B", heads.axis, "T", "M" if short else keys],
                           ["b", ", ".join(heads.index), "i", "j"])
    op.input(p, "attn_mask", "mask", own)
    read = at("mask", place)
    if not short:
        return read
    return f"({read} else {'0 == 1' if op.kind('attn_mask') == 'bool' else '-inf'})"


def window(op, start):
    """Conditions on key j and query i; `start` is the position of the first query."""
    i = f"i + {start}" if start else "i"
    left, right = op.attr("left_window_size", -1), op.attr("right_window_size", -1)
    conditions = [f"j <= {i}"] if op.attr("is_causal", 0) else []
    if left >= 0:
        conditions.append(f"{i} - {left} <= j")
    if right >= 0:
        conditions.append(f"j <= {i} + {right}")
    return conditions


def keys_and_values(op, p, layout):
    """(key, value, their number): with a past they are the past, then the operands."""
    for role, name, new, size in (("present_key", "keys", "k", "D"),
                                  ("present_value", "values", "v", "V")):
        axes = ["B", layout.heads.key, "P + S" if op.has("past_key") else "S", size]
        if op.wants(role):
            op.result(p, role, name, axes)
        elif op.has("past_key"):
            p.local(name, axes)
        if op.has("past_key"):
            past = role.replace("present", "past")
            op.input(p, past, f"past_{new}", ["B", layout.heads.key, "P", size])
            p.equation(layout.all(name, "t in P"), layout.all(f"past_{new}", "t"))
            p.equation(layout.all(name, "P + t"), layout.new(new, "t"))
        elif op.wants(role):
            p.equation(layout.all(name, "t"), layout.new(new, "t"))
    if op.has("past_key"):
        return layout.all("keys", "j"), layout.all("values", "j"), "P + S"
    return layout.new("k", "j"), layout.new("v", "j"), "S"


def attention(op, p):
    op.attr("softmax_precision")  # ours is at least float32
    mode, softcap = op.attr("qk_matmul_output_mode", 0), op.attr("softcap", 0.0)
    layout = Layout(op, p)
    key, value, keys = keys_and_values(op, p, layout)
    visible, start = [], "P" if op.has("past_key") else None
    if op.has("nonpad_kv_seqlen"):
        op.input(p, "nonpad_kv_seqlen", "n", ["B"])
        visible.append("j < n[b]")
        start = start or "n[b] - T"
    visible += window(op, start)

    s = e = at("s", layout.score)
    p.equation(s, scaled(op, p).format(f"dot({layout.q()}, {key})"))
    stages = {0: s}
    if softcap > 0:
        p.const("cap", number(softcap))
        e = at("c", layout.score)
        p.equation(e, f"cap * tanh({s} / cap)")
    stages[1] = e
    left = layout.score  # says how far j goes where two axes disagree
    if op.has("attn_mask"):
        if mask_shape(op)[2]:
            left = [*layout.score[:-1], f"j in {keys}"]
        read = mask_read(op, p, layout.heads, keys)
        if op.kind("attn_mask") == "bool":
            visible.insert(0, read)
        else:
            p.equation(at("e", left), f"{e} + {read}")
            e = at("e", layout.score)
    where = f" where {' and '.join(visible)}" if visible else ""
    stages[2] = f"{e}{where} else -inf" if visible else e
    stages[3] = a = at("a", layout.score)
    p.equation(at("a", left), f"softmax[j{where}]({e})")
    if op.wants("qk_matmul_output"):
        if mode not in stages:
            raise Skip(f"qk_matmul_output_mode {mode}")
        op.result(p, "qk_matmul_output", "qk", ["B", layout.heads.axis, "T", keys])
        p.equation(at("qk", left), stages[mode])
    layout.result(op, p, a, value)


def flex_attention(op, p):
    """Scores and weights pass through graphs of the caller."""
    if len(op.shape("Q")) != 4:
        raise Skip(f"FlexAttention of rank {len(op.shape('Q'))}")
    layout = Layout(op, p)
    last = at("s", layout.score)
    p.equation(last, scaled(op, p).format(f"dot({layout.q()}, {layout.new('k', 'j')})"))

    def modified(attribute, name, last):
        graph = op.attr(attribute)
        if not graph:
            return last
        text, call = modification(graph, attribute, layout.heads, p)
        p.function(text)
        p.equation(at(name, layout.score), call(last))
        return at(name, layout.score)
    last = modified("score_mod", "e", last)
    p.equation(at("a", layout.score), f"softmax[j]({last})")
    last = modified("prob_mod", "w", at("a", layout.score))
    layout.result(op, p, last, layout.new("v", "j"))


OPERATORS = {"Attention": attention, "FlexAttention": flex_attention}
