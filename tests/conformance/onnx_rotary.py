"""RotaryEmbedding: pairs of a head's first columns turn by an angle of their position.

    x: [B, N, T, (2, M)]         halves: x[0, m] with x[1, m]
    x: [B, N, T, (M, 2)]         interleaved: x[m, 0] with x[m, 1]
    x: [B, N, T, ((2, M); E)]    E columns stay as they are
    x: [B, T, (N, 2, M)]         rank 3: the heads are in the last axis"""
from onnx import at
from program import Skip


def rotary(op, p):
    shape = op.shape("X")
    interleaved, count = op.attr("interleaved", 0), op.attr("num_heads", 0)
    columns = op.attr("rotary_embedding_dim", 0)
    flat = len(shape) == 3
    if flat and not count:
        raise Skip("RotaryEmbedding of rank 3 without num_heads")
    if flat:
        p.dim("N", count)
    size = shape[-1] // count if flat else shape[-1]
    p.dim("M", (columns or size) // 2)

    def pairs(k):
        return f"m, {k}" if interleaved else f"{k}, m"
    pair, head = ("M, 2" if interleaved else "2, M"), ("b, t, n" if flat else "b, n, t")
    outer = ["B", "T"] if flat else ["B", "N", "T"]
    whole = columns in (0, size)
    last = f"({pair})" if whole else f"(({pair}); E)"
    if flat:
        last = f"(N, {pair})" if whole else "(N, W)"
    op.input(p, "X", "x", [*outer, last])
    op.result(p, "Y", "y", [*outer, last])
    angle = ["b", "t", "m"]
    if op.has("position_ids"):
        op.input(p, "position_ids", "pos", ["B", "T"])
        angle = ["pos[b, t]", "m"]
    for role, name in (("cos_cache", "cosine"), ("sin_cache", "sine")):
        op.input(p, role, name, ["L", "M"] if op.has("position_ids") else ["B", "T", "M"])
    for name, table in (("c", "cosine"), ("s", "sine")):
        p.equation(f"{name}[b, t, m]", at(table, angle))
    z, out = "x", "y"
    if not whole:
        z, out, joined = "z", "turned", "x"
        if flat:
            p.local("heads", ["B", "T", "N", f"(({pair}); E)"])
            p.equation("heads[b, t, n]", "x[b, t, n]")
            joined = "heads"
        p.local("turned", ["B", "T", "N", f"({pair})"] if flat else [*outer, f"({pair})"])
        p.equation("[z; rest]", joined)
    one, two = f"{z}[{head}, {pairs(0)}]", f"{z}[{head}, {pairs(1)}]"
    p.equation(f"{out}[{head}, {pairs('k')}]",
               f"c[b, t, m] * {one} - s[b, t, m] * {two} where k == 0"
               f" else s[b, t, m] * {one} + c[b, t, m] * {two}")
    if not whole:
        p.equation(f"y[{head}]", f"[turned[{head}]; rest[{head}]]")


OPERATORS = {"RotaryEmbedding": rotary}
