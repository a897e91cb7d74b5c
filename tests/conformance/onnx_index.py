"""Operators that move elements: Gather and its kin, TensorScatter, Trilu, Transpose."""
from onnx import at, axis_of, letters
from program import Skip


def gather(op, p):
    """data[.., indices[..], ..]: the indices' axes take the place of one axis."""
    rank, extra = len(op.shape("data")), len(op.shape("indices"))
    axis = axis_of(op, op.attr("axis", 0), rank)
    axes, index = letters(rank)
    more, places = [f"P{k + 1}" for k in range(extra)], [f"p{k + 1}" for k in range(extra)]
    op.input(p, "data", "data", axes)
    op.input(p, "indices", "indices", more)
    op.result(p, "output", "y", [*axes[:axis], *more, *axes[axis + 1:]])
    read = at("indices", places)
    p.equation(at("at", places), f"{read} where {read} >= 0 else {read} + {axes[axis]}")
    p.equation(at("y", [*index[:axis], *places, *index[axis + 1:]]),
               at("data", [*index[:axis], at("at", places), *index[axis + 1:]]))


def gather_elements(op, p):
    """y[i, j] = data[indices[i, j], j]."""
    rank = len(op.shape("data"))
    axis = axis_of(op, op.attr("axis", 0), rank)
    axes, index = letters(rank)
    sizes = [f"P{k + 1}" for k in range(rank)]
    op.input(p, "data", "data", axes)
    op.input(p, "indices", "indices", sizes)
    op.result(p, "output", "y", sizes)
    read = at("indices", index)
    p.equation(at("at", index), f"{read} where {read} >= 0 else {read} + {axes[axis]}")
    p.equation(at("y", index), at("data", [*index[:axis], at("at", index), *index[axis + 1:]]))


def gather_nd(op, p):
    """The last axis of indices holds positions in data, behind the batch axes both have."""
    batch = op.attr("batch_dims", 0)
    shape, positions = op.shape("data"), op.shape("indices")
    depth = positions[-1]
    axes, index = letters(len(shape))
    more = [f"P{k + 1}" for k in range(len(positions) - 1 - batch)]
    places = [m.lower() for m in more]
    op.input(p, "data", "data", axes)
    op.input(p, "indices", "indices", [*axes[:batch], *more, str(depth)])
    rest = batch + depth
    op.result(p, "output", "y", [*axes[:batch], *more, *axes[rest:]])
    reads = [at("indices", [*index[:batch], *places, str(k)]) for k in range(depth)]
    found = [f"{r} where {r} >= 0 else {r} + {axes[batch + k]}" for k, r in enumerate(reads)]
    for k, text in enumerate(found):
        p.equation(at(f"at{k + 1}", [*index[:batch], *places]), text)
    where = [at(f"at{k + 1}", [*index[:batch], *places]) for k in range(depth)]
    p.equation(at("y", [*index[:batch], *places, *index[rest:]]),
               at("data", [*index[:batch], *where, *index[rest:]]))


def tensor_scatter(op, p):
    """A cache with an update written from a position of its own in every example on."""
    shape = op.shape("past_cache")
    axis = axis_of(op, op.attr("axis", -2), len(shape))
    mode = op.attr("mode", "linear")
    if axis == 0 or mode not in ("linear", "circular"):
        raise Skip(f"TensorScatter along axis {axis}, mode {mode}")
    axes, index = letters(len(shape))
    op.input(p, "past_cache", "past", axes)
    op.input(p, "update", "update", [*axes[:axis], "U", *axes[axis + 1:]])
    op.result(p, "present_cache", "y", axes)
    place = index[axis]
    if op.has("write_indices"):
        op.input(p, "write_indices", "start", axes[:1])
        place = f"{place} - start[{index[0]}]"
    if mode == "circular":
        place = f"({place}) % {axes[axis]}"
    new = at("update", [*index[:axis], place, *index[axis + 1:]])
    p.equation(at("y", index), f"{new} else {at('past', index)}")


def trilu(op, p):
    """What is not kept is stored as 0."""
    axes, index = letters(len(op.shape("input")))
    op.input(p, "input", "x", axes)
    row, column = index[-2:]
    if op.has("k"):
        op.input(p, "k", "diagonal", [] if not op.shape("k") else ["1"])
        row += " + diagonal" if not op.shape("k") else " + diagonal[0]"
    op.result(p, "output", "y", axes)
    sign = ">=" if op.attr("upper", 1) else "<="
    p.equation(at("y", index), f"{at('x', index)} where {column} {sign} {row}")


def transpose(op, p):
    axes, index = letters(len(op.shape("data")))
    order = op.attr("perm") or list(reversed(range(len(axes))))
    op.input(p, "data", "x", axes)
    op.result(p, "transposed", "y", [axes[k] for k in order])
    p.equation(at("y", [index[k] for k in order]), at("x", index))


OPERATORS = {"Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
             "TensorScatter": tensor_scatter, "Trilu": trilu, "Transpose": transpose}
