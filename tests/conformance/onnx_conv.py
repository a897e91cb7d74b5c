"""Conv: correlation over one to three axes, with strides, dilations, zero padding and groups.

    x: [N, (G, C), H, W]   w: [(G, O), C, P, Q]   y[n, g, o, i, j] = sum w x[2 i + p - 1, ...]"""
from onnx import at
from program import Skip

PLACES = [("H", "i", "P", "p"), ("W", "j", "Q", "q"), ("D", "k", "S", "s")]


def padding(op, sizes, kernel, strides, dilations):
    """(zeros before, zeros after) for each axis."""
    auto, pads = op.attr("auto_pad", "NOTSET"), op.attr("pads", [0] * 2 * len(sizes))
    if auto == "VALID":
        return [(0, 0)] * len(sizes)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        out = []
        for n, k, s, d in zip(sizes, kernel, strides, dilations):
            all_of = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            less = all_of // 2
            out.append((less, all_of - less) if auto == "SAME_UPPER" else (all_of - less, less))
        return out
    if auto != "NOTSET":
        raise Skip(f"Conv: auto_pad {auto}")
    return list(zip(pads[:len(sizes)], pads[len(sizes):]))


def plus(text, n):
    return text if n == 0 else f"{text} + {n}" if n > 0 else f"{text} - {-n}"


def conv(op, p):
    sizes, kernel = op.shape("X")[2:], op.shape("W")[2:]
    n = len(sizes)
    if not 1 <= n <= len(PLACES):
        raise Skip(f"Conv over {n} axes")
    op.attr("kernel_shape")  # W's own
    strides, dilations = op.attr("strides", [1] * n), op.attr("dilations", [1] * n)
    pads = padding(op, sizes, kernel, strides, dilations)
    p.dim("G", op.attr("group", 1))
    places = PLACES[:n]
    op.input(p, "X", "x", ["N", "(G, C)", *[size for size, _, _, _ in places]])
    op.input(p, "W", "w", ["(G, O)", "C", *[width for _, _, width, _ in places]])
    out, reads = [], []
    for (size, i, width, d), stride, dilation, (before, after) in zip(places, strides, dilations,
                                                                      pads):
        reach, one = (width, 0) if dilation == 1 else (f"{dilation} * ({width} - 1)", -1)
        total = plus(f"{size} - {reach}", before + after + one)
        out.append(f"({total}) // {stride} + 1" if stride != 1 else plus(total, 1))
        inner = i if stride == 1 else f"{stride} * {i}"
        step = d if dilation == 1 else f"{dilation} * {d}"
        reads.append(plus(f"{inner} + {step}", -before))
    index = [i for _, i, _, _ in places]
    taps = [d for _, _, _, d in places]
    text = (f"sum[{', '.join(['c', *taps])}]({at('w', ['g', 'o', 'c', *taps])}"
            f" * {at('x', ['n', 'g', 'c', *reads])} else 0)")
    if op.has("B"):
        op.input(p, "B", "bias", ["(G, O)"])
        text += " + bias[g, o]"
    op.result(p, "Y", "y", ["N", "(G, O)", *out])
    p.equation(at("y", ["n", "g", "o", *index]), text)


OPERATORS = {"Conv": conv}
