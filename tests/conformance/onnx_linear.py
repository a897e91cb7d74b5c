"""LinearAttention (a state updated token by token) and CausalConvWithState.

    q: [B, T, (G, R, K)]   k: [B, T, (G, K)]   v: [B, T, (G, V)]   M: [K, V] the state of a head

(or H heads, see heads.py)"""
from heads import Heads
from onnx import at
from program import Skip, number


def linear_attention(op, p):
    heads = Heads(op.attr("q_num_heads"), op.attr("kv_num_heads"))
    rule = op.attr("update_rule", "gated_delta")
    op.attr("chunk_size")  # how it is computed, not what
    scale = op.attr("scale", 0.0)
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Skip(f"LinearAttention: update_rule {rule}")
    heads.declare(p)
    g, axis, count = heads.key_index, heads.key, heads.sizes[heads.key]
    op.input(p, "query", "q", ["B", "T", f"({heads.query}, K)"])
    op.input(p, "key", "k", ["B", "T", f"({axis}, K)"])
    op.input(p, "value", "v", ["B", "T", f"({axis}, V)"])
    p.local("M", ["T", "B", axis, "K", "V"])
    first = "0"
    if op.has("past_state"):
        op.input(p, "past_state", "past", ["B", axis, "K", "V"])
        first = f"past[b, {g}]"
    p.equation(f"M[-1, b, {g}]", first)
    kept = f"M[t-1, b, {g}, i, j]"
    if rule.startswith("gated"):
        by_head = op.shape("decay")[-1] == count and op.shape("key")[-1] != count
        op.input(p, "decay", "decay", ["B", "T", axis if by_head else f"({axis}, K)"])
        factor = at("decay", ["b", "t", g, *([] if by_head else ["i"])])
        p.equation(f"D[t, b, {g}, i, j]", f"exp({factor}) * {kept}")
        kept = f"D[t, b, {g}, i, j]"
    new = f"v[b, t, {g}, j]"
    if rule.endswith("delta"):
        one = op.shape("beta")[-1] == 1 and count != 1
        op.input(p, "beta", "beta", ["B", "T", "1" if one else axis])
        rate = at("beta", ["b", "t", "0" if one else g])
        p.equation(f"u[t, b, {g}, j]", f"{rate} * ({new} - sum[i](k[b, t, {g}, i] * {kept}))")
        new = f"u[t, b, {g}, j]"
    p.equation(f"M[t, b, {g}, i, j]", f"{kept} + k[b, t, {g}, i] * {new}")
    if scale:
        p.const("scale", number(scale))
    op.result(p, "output", "o", ["B", "T", f"({heads.query}, V)"])
    head = ["b", "t", *heads.index]
    p.equation(at("o", [*head, "j"]),
               f"sum[i]({at('q', [*head, 'i'])} * M[t, b, {g}, i, j])"
               + (" * scale" if scale else " / sqrt(K)"))
    if op.wants("present_state"):
        op.result(p, "present_state", "present", ["B", axis, "K", "V"])
        p.equation(f"present[b, {g}]", f"M[T - 1, b, {g}]")


def causal_conv(op, p):
    """Every channel by itself, over what came before: z is the state, then the input."""
    activation = op.attr("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise Skip(f"CausalConvWithState: activation {activation}")
    op.input(p, "input", "x", ["B", "C", "T"])
    op.input(p, "weight", "w", ["C", "1", "K"])
    p.local("z", ["B", "C", "K - 1 + T"])
    before = "0"
    if op.has("past_state"):
        op.input(p, "past_state", "past", ["B", "C", "K - 1"])
        before = "past[b, c, t]"
    p.equation("z[b, c, t in K - 1]", before)
    p.equation("z[b, c, K - 1 + t]", "x[b, c, t]")
    text = "sum[d](w[c, 0, d] * z[b, c, t + d])"
    if op.has("bias"):
        op.input(p, "bias", "bias", ["C"])
        text += " + bias[c]"
    op.result(p, "output", "y", ["B", "C", "T"])
    if activation == "none":
        p.equation("y[b, c, t]", text)
    else:
        p.equation("u[b, c, t in T]", text)
        p.equation("y[b, c, t]", "u[b, c, t] * sigmoid(u[b, c, t])")
    if op.wants("present_state"):
        op.result(p, "present_state", "present", ["B", "C", "K - 1"])
        p.equation(at("present", ["b", "c", "t"]), "z[b, c, T + t]")


OPERATORS = {"LinearAttention": linear_attention, "CausalConvWithState": causal_conv}
