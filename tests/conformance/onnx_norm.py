"""Normalisations: over the last axes (layer, RMS), a batch, a group, an instance, or by a norm."""
from onnx import at, axis_of, letters, stretched
from program import Skip, number


def over_last(op, p):
    """The axes and indices of X, and of those from `axis` on, over which it is normalised."""
    rank = len(op.shape("X"))
    axis = axis_of(op, op.attr("axis", -1), rank)
    op.attr("stash_type", 1)  # in which precision: ours is at least float32
    p.const("eps", number(op.attr("epsilon", 1e-5)))
    axes, index = letters(rank)
    op.input(p, "X", "x", axes)
    return axes, index, axis


def affine(op, p, role, name, axes, index):
    """Reads scale or bias, stretched to X."""
    own, place = stretched(op.shape(role), op.shape("X"), axes, index)
    op.input(p, role, name, own)
    return at(name, place)


def layer_norm(op, p):
    axes, index, axis = over_last(op, p)
    outer, over = index[:axis], ", ".join(index[axis:])
    scale = affine(op, p, "Scale", "scale", axes, index)
    mu, var, x = at("mu", outer), at("var", outer), at("x", index)
    p.equation(mu, f"mean[{over}]({x})")
    p.equation(var, f"mean[{over}](({x} - {mu})^2)")
    text = f"({x} - {mu}) / sqrt({var} + eps) * {scale}"
    if op.has("B"):
        text += " + " + affine(op, p, "B", "bias", axes, index)
    op.result(p, "Y", "y", axes)
    p.equation(at("y", index), text)
    kept = [*axes[:axis], *["1"] * len(axes[axis:])]
    place = [*outer, *[i + "1" for i in index[axis:]]]
    for role, name, text in (("Mean", "mu_1", mu),
                             ("InvStdDev", "inv_std", f"1 / sqrt({var} + eps)")):
        if op.wants(role):
            op.result(p, role, name, kept)
            p.equation(at(name, place), text)


def rms_norm(op, p):
    axes, index, axis = over_last(op, p)
    x = at("x", index)
    scale = affine(op, p, "scale", "scale", axes, index)
    op.result(p, "Y", "y", axes)
    ms = at("ms", index[:axis])
    p.equation(ms, f"mean[{', '.join(index[axis:])}]({x}^2)")
    p.equation(at("y", index), f"{x} / sqrt({ms} + eps) * {scale}")


def lp_norm(op, p):
    role, out = op.order[0], next(iter(op.outputs))
    rank = len(op.shape(role))
    axis = axis_of(op, op.attr("axis", -1), rank)
    order = op.attr("p", 2)
    axes, index = letters(rank)
    op.input(p, role, "x", axes)
    op.result(p, out, "y", axes)
    other = [*index[:axis], index[axis] + "1", *index[axis + 1:]]
    x, k = at("x", other), index[axis] + "1"
    norm = {1: f"sum[{k}](abs({x}))", 2: f"sqrt(sum[{k}]({x}^2))"}.get(order)
    if norm is None:
        raise Skip(f"LpNormalization with p = {order}")
    p.equation(at("y", index), f"{at('x', index)} / {norm}")


def channels(op):
    """X is [N, C, further axes]: names and indices."""
    rank = len(op.shape("X" if op.has("X") else "input"))
    if rank < 2:
        raise Skip(f"{op.op} of {rank} axes")
    more = [("H", "i"), ("W", "j"), ("D", "k"), ("E", "l")]
    if rank - 2 > len(more):
        raise Skip(f"{op.op} of {rank} axes")
    return [a for a, _ in more[:rank - 2]], [i for _, i in more[:rank - 2]]


def batch_norm(op, p):
    """Statistics are given, or in training are those of the batch (and move the given ones)."""
    more, places = channels(op)
    training = op.attr("training_mode", 0)
    momentum = op.attr("momentum", 0.9)
    p.const("eps", number(op.attr("epsilon", 1e-5)))
    op.input(p, "X", "x", ["N", "C", *more])
    for role, name in (("scale", "scale"), ("B", "bias"), ("input_mean", "mean_in"),
                       ("input_var", "var_in")):
        op.input(p, role, name, ["C"])
    x = at("x", ["n", "c", *places])
    over = ", ".join(["n", *places])
    if training:
        p.const("momentum", number(momentum))
        p.equation("mu[c]", f"mean[{over}]({x})")
        p.equation("var[c]", f"mean[{over}](({x} - mu[c])^2)")
        for role, name, given, new in (("running_mean", "mean_out", "mean_in", "mu"),
                                       ("running_var", "var_out", "var_in", "var")):
            if op.wants(role):
                op.result(p, role, name, ["C"])
                p.equation(f"{name}[c]", f"momentum * {given}[c] + (1 - momentum) * {new}[c]")
    else:
        p.equation("mu", "mean_in")
        p.equation("var", "var_in")
    op.result(p, "Y", "y", ["N", "C", *more])
    p.equation(at("y", ["n", "c", *places]),
               f"({x} - mu[c]) / sqrt(var[c] + eps) * scale[c] + bias[c]")


def group_norm(op, p):
    """Channels (G, K) in G groups; every group of an example is normalised by itself."""
    if op.opset < 21:
        raise Skip("GroupNormalization before opset 21 (scale by group)")
    op.attr("stash_type", 1)
    more, places = channels(op)
    p.dim("G", op.attr("num_groups"))
    p.const("eps", number(op.attr("epsilon", 1e-5)))
    op.input(p, "X", "x", ["N", "(G, K)", *more])
    op.input(p, "scale", "scale", ["(G, K)"])
    op.input(p, "bias", "bias", ["(G, K)"])
    op.result(p, "Y", "y", ["N", "(G, K)", *more])
    x, over = at("x", ["n", "g", "c", *places]), ", ".join(["c", *places])
    p.equation("mu[n, g]", f"mean[{over}]({x})")
    p.equation("var[n, g]", f"mean[{over}](({x} - mu[n, g])^2)")
    p.equation(at("y", ["n", "g", "c", *places]),
               f"({x} - mu[n, g]) / sqrt(var[n, g] + eps) * scale[g, c] + bias[g, c]")


def instance_norm(op, p):
    more, places = channels(op)
    p.const("eps", number(op.attr("epsilon", 1e-5)))
    op.input(p, "input", "x", ["N", "C", *more])
    op.input(p, "scale", "scale", ["C"])
    op.input(p, "B", "bias", ["C"])
    op.result(p, "output", "y", ["N", "C", *more])
    x, over = at("x", ["n", "c", *places]), ", ".join(places)
    p.equation("mu[n, c]", f"mean[{over}]({x})")
    p.equation("var[n, c]", f"mean[{over}](({x} - mu[n, c])^2)")
    p.equation(at("y", ["n", "c", *places]),
               f"({x} - mu[n, c]) / sqrt(var[n, c] + eps) * scale[c] + bias[c]")


def mean_variance(op, p):
    rank = len(op.shape("X"))
    gone = [axis_of(op, a, rank) for a in op.attr("axes", [0, 2, 3])]
    axes, index = letters(rank)
    kept = [i for k, i in enumerate(index) if k not in gone]
    over = ", ".join(index[k] for k in gone)
    op.input(p, "X", "x", axes)
    op.result(p, "Y", "y", axes)
    x, mu, var = at("x", index), at("mu", kept), at("var", kept)
    p.equation(mu, f"mean[{over}]({x})")
    p.equation(var, f"mean[{over}](({x} - {mu})^2)")
    p.equation(at("y", index), f"({x} - {mu}) / (sqrt({var}) + 1e-9)")


OPERATORS = {"LayerNormalization": layer_norm, "RMSNormalization": rms_norm,
             "LpNormalization": lp_norm, "BatchNormalization": batch_norm,
             "GroupNormalization": group_norm, "InstanceNormalization": instance_norm,
             "MeanVarianceNormalization": mean_variance}
