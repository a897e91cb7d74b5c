"""Reductions, and what normalises along axes: Reduce*, ArgMax, Softmax, Hardmax, CumSum, ...

The reduced index has the letter of its axis; an axis that is kept with length 1 has an index of its
own (a1)."""
from onnx import at, axis_of, letters
from program import Skip

# op: what it is, `over` the indices, of x; for a reduction over nothing as well.
REDUCTIONS = {
    "ReduceSum": "sum[{over}]({x})",
    "ReduceSumSquare": "sum[{over}]({x}^2)",
    "ReduceL1": "sum[{over}](abs({x}))",
    "ReduceL2": "sqrt(sum[{over}]({x}^2))",
    "ReduceLogSum": "log(sum[{over}]({x}))",
    "ReduceLogSumExp": "logsumexp[{over}]({x})",
    "ReduceMean": "mean[{over}]({x}) else nan",
    "ReduceProd": "prod[{over}]({x})",
    "ReduceMax": "max[{over}]({x}) else -inf",
    "ReduceMin": "min[{over}]({x}) else inf",
}
INT_TOO = {"ReduceSum": "sum[{over}]({x})", "ReduceSumSquare": "sum[{over}]({x} * {x})",
           "ReduceL1": "sum[{over}](abs({x}))", "ReduceProd": "prod[{over}]({x})",
           "ReduceMax": "max[{over}]({x})", "ReduceMin": "min[{over}]({x})"}
BOOL_TOO = {"ReduceMax": "any[{over}]({x})", "ReduceMin": "all[{over}]({x})"}
# The same of one element: what a reduction over no axis gives.
POINTWISE = {"ReduceSum": "{x}", "ReduceSumSquare": "{x}^2", "ReduceL1": "abs({x})",
             "ReduceL2": "abs({x})", "ReduceLogSum": "log({x})", "ReduceLogSumExp": "{x}",
             "ReduceMean": "{x}", "ReduceProd": "{x}", "ReduceMax": "{x}", "ReduceMin": "{x}"}


def without(axes, index, gone, keep):
    """Axes and indices of the result: the reduced ones are left out, or kept with length 1."""
    out_axes = [("1" if k in gone else a) for k, a in enumerate(axes) if keep or k not in gone]
    out_index = [(i + "1" if k in gone else i) for k, i in enumerate(index)
                 if keep or k not in gone]
    return out_axes, out_index


def reduce(op, p):
    rank = len(op.shape("data"))
    keep = op.attr("keepdims", 1)
    given = op.data("axes") if op.has("axes") else op.attr("axes") or []
    noop = op.attr("noop_with_empty_axes", 0)
    gone = sorted({axis_of(op, a, rank) for a in given})
    if not gone and not noop:
        gone = list(range(rank))
    kind = op.kind("data")
    table = {"": REDUCTIONS, "int": INT_TOO, "bool": BOOL_TOO}[kind]
    if op.op not in table:
        raise Skip(f"{op.op} of {op.dtype('data')}")
    if kind == "int" and op.op in ("ReduceMax", "ReduceMin") and 0 in op.shape("data"):
        raise Skip(f"{op.op} of ints over nothing is the type's limit")
    axes, index = letters(rank)
    out_axes, out_index = without(axes, index, gone, keep)
    op.input(p, "data", "x", axes)
    op.result(p, "reduced", "reduced", out_axes)
    text = (table if gone else POINTWISE)[op.op]
    over = ", ".join(index[k] for k in gone)
    p.equation(at("reduced", out_index), text.format(over=over, x=at("x", index)))


def arg(op, p):
    """The first of equal ones; the last: the first from the end."""
    rank = len(op.shape("data"))
    axis = axis_of(op, op.attr("axis", 0), rank)
    keep, last = op.attr("keepdims", 1), op.attr("select_last_index", 0)
    if op.kind("data") == "bool":
        raise Skip(f"{op.op} of bools")
    axes, index = letters(rank)
    out_axes, out_index = without(axes, index, [axis], keep)
    op.input(p, "data", "x", axes)
    op.result(p, "reduced", "reduced", out_axes)
    k, size = index[axis], axes[axis]
    which = op.op.lower()
    if last:
        turned = [*index[:axis], f"{size} - 1 - {k}", *index[axis + 1:]]
        text = f"{size} - 1 - {which}[{k} in {size}]({at('x', turned)})"
    else:
        text = f"{which}[{k}]({at('x', index)})"
    p.equation(at("reduced", out_index), text)


def along(op, p):
    """Softmax, LogSoftmax, Hardmax of opset 13 and later: along one axis."""
    if op.opset < 13:
        raise Skip(f"{op.op} before opset 13 (it flattens)")
    rank = len(op.shape("input"))
    axis = axis_of(op, op.attr("axis", -1), rank)
    axes, index = letters(rank)
    op.input(p, "input", "x", axes)
    op.result(p, "output", "y", axes)
    k = index[axis]
    text = f"{op.op.lower()}[{k}]({at('x', index)})"
    if op.op == "LogSoftmax":  # relative to the largest one: large scores keep their digits
        m, over = at("m", [i for i in index if i != k]), k + "1"
        other = at("x", [*index[:axis], over, *index[axis + 1:]])
        p.equation(m, f"max[{k}]({at('x', index)})")
        text = f"{at('x', index)} - {m} - log(sum[{over}](exp({other} - {m})))"
    p.equation(at("y", index), text)


def cumulative(op, p):
    rank = len(op.shape("x"))
    axis = axis_of(op, op.data("axis")[0], rank)
    exclusive, reverse = op.attr("exclusive", 0), op.attr("reverse", 0)
    if op.kind("x") == "bool":
        raise Skip(f"{op.op} of bools")
    axes, index = letters(rank)
    op.input(p, "x", "x", axes)
    op.result(p, "y", "y", axes)
    k = index[axis]
    other = [*index[:axis], k + "1", *index[axis + 1:]]
    less = (">" if reverse else "<") + ("" if exclusive else "=")
    function = "sum" if op.op == "CumSum" else "prod"
    p.equation(at("y", index), f"{function}[{k}1 {less} {k}]({at('x', other)})")


OPERATORS = {**{name: reduce for name in REDUCTIONS}, "ArgMax": arg, "ArgMin": arg,
             "Softmax": along, "LogSoftmax": along, "Hardmax": along,
             "CumSum": cumulative, "CumProd": cumulative}
