"""Products: MatMul, Gemm, Einsum."""
import re

from onnx import at, broadcast_shape, letters, stretched
from program import Skip, number


def matmul(op, p):
    """x: [..., M, K], w: [..., K, N]; a vector has no M, or no N; leading axes are stretched."""
    role_x, role_w = op.order
    out = next(iter(op.outputs))
    sx, sw = op.shape(role_x), op.shape(role_w)
    full = broadcast_shape([sx[:-2], sw[:-2]])
    axes, index = letters(len(full))
    bx, ix = stretched(sx[:-2], full, axes, index)
    bw, iw = stretched(sw[:-2], full, axes, index)
    row, column = (len(sx) > 1) * ["M"], (len(sw) > 1) * ["N"]
    m, n = (len(sx) > 1) * ["m"], (len(sw) > 1) * ["n"]
    op.input(p, role_x, "x", [*bx, *row, "K"])
    op.input(p, role_w, "w", [*bw, "K", *column])
    op.result(p, out, "y", [*axes, *row, *column])
    p.equation(at("y", [*index, *m, *n]),
               f"sum[k]({at('x', [*ix, *m, 'k'])} * {at('w', [*iw, 'k', *n])})")


def gemm(op, p):
    """alpha A B + beta C, A and B perhaps transposed, C stretched."""
    alpha, beta = op.attr("alpha", 1.0), op.attr("beta", 1.0)
    ta, tb = op.attr("transA", 0), op.attr("transB", 0)
    a, x = (["K", "M"], "k, m") if ta else (["M", "K"], "m, k")
    b, w = (["N", "K"], "n, k") if tb else (["K", "N"], "k, n")
    op.input(p, "A", "x", a)
    op.input(p, "B", "w", b)
    op.result(p, "Y", "y", ["M", "N"])
    if op.kind("A") and (alpha != int(alpha) or beta != int(beta)):
        raise Skip("Gemm of ints with a broken factor")

    def times(factor, name, text):
        if factor == 1:
            return text
        p.const(name, int(factor) if op.kind("A") else number(factor))
        return f"{name} * {text}"
    text = times(alpha, "alpha", f"sum[k](x[{x}] * w[{w}])")
    if op.has("C"):
        own, place = stretched(op.shape("C"), op.shape("Y"), ["M", "N"], ["m", "n"])
        op.input(p, "C", "c", own)
        text += " + " + times(beta, "beta", at("c", place))
    p.equation("y[m, n]", text)


def einsum(op, p):
    """The equation is the program: every letter an index, `...` indices of its own."""
    equation = op.attr("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    shapes = [op.shape(r) for r in op.order]
    if len(terms) != len(shapes):
        raise Skip(f"einsum {equation} of {len(shapes)} operands")
    ellipses = [len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes) if "..." in t]
    most = max(ellipses, default=0)

    def symbols(term, rank):
        own = rank - len(term.replace("...", ""))
        return [x for t in re.findall(r"\.\.\.|\w", term)
                for x in (range(most - own, most) if t == "..." else [t])]

    parts = [symbols(t, len(s)) for t, s in zip(terms, shapes)]
    if not arrow:  # the letters that stand once, in order
        flat = [x for part in parts for x in part if isinstance(x, str)]
        out = list(range(most)) + sorted(x for x in set(flat) if flat.count(x) == 1)
    else:
        own = len(right.replace("...", ""))
        out = symbols(right, own + most if "..." in right else own)
    size = {}
    for part, shape in zip(parts, shapes):
        for x, n in zip(part, shape):
            size[x] = max(size.get(x, 1), n)

    def index(x):
        return f"e{x}" if isinstance(x, int) else x if x.islower() else x.lower() * 2

    def name(x):
        return index(x).upper()

    reads = []
    for k, (role, part, shape) in enumerate(zip(op.order, parts, shapes)):
        one = [n == 1 and size[x] != 1 for x, n in zip(part, shape)]
        tensor = f"t{k + 1}"
        op.input(p, role, tensor, ["1" if o else name(x) for o, x in zip(one, part)])
        reads.append(at(tensor, ["0" if o else index(x) for o, x in zip(one, part)]))
    op.result(p, next(iter(op.outputs)), "y", [name(x) for x in out])
    over = []
    for x in (x for part in parts for x in part):
        if x not in out and x not in over:
            over.append(x)
    text = " * ".join(reads)
    p.equation(at("y", [index(x) for x in out]),
               f"sum[{', '.join(map(index, over))}]({text})" if over else text)


OPERATORS = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
