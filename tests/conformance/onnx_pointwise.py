"""Operators that work element by element: activations, arithmetic, Where.

Activations are equations of one number, applied to the whole tensor; operators of several operands
stretch axes of length 1."""
from onnx import at, broadcast_shape, letters, stretched
from program import Skip, number

# op: (what it is of a number x, the attributes it reads with their defaults).
ACTIVATIONS = {
    "Abs": ("abs(x)", {}),
    "Celu": ("max(x, 0) + min(alpha * expm1(x / alpha), 0)", {"alpha": 1.0}),
    "Ceil": ("ceil(x)", {}),
    "Cos": ("cos(x)", {}),
    "Elu": ("x where x > 0 else alpha * expm1(x)", {"alpha": 1.0}),
    "Erf": ("erf(x)", {}),
    "Exp": ("exp(x)", {}),
    "Floor": ("floor(x)", {}),
    "HardSigmoid": ("clamp(alpha * x + beta, 0, 1)", {"alpha": 0.2, "beta": 0.5}),
    "HardSwish": ("x * clamp(x / 6 + 1 / 2, 0, 1)", {}),
    "Identity": ("x", {}),
    "LeakyRelu": ("x where x >= 0 else alpha * x", {"alpha": 0.01}),
    "Log": ("log(x)", {}),
    "Mish": ("x * tanh(max(x, 0) + log1p(exp(-abs(x))))", {}),
    "Neg": ("-x", {}),
    "Reciprocal": ("1 / x", {}),
    "Relu": ("max(x, 0)", {}),
    "Round": ("round(x)", {}),
    "Selu": ("gamma * x where x > 0 else gamma * alpha * expm1(x)",
             {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "Shrink": ("x + bias where x < -lambd else (x - bias where x > lambd else 0)",
               {"bias": 0.0, "lambd": 0.5}),
    "Sigmoid": ("sigmoid(x)", {}),
    "Sign": ("sign(x)", {}),
    "Sin": ("sin(x)", {}),
    "Softplus": ("max(x, 0) + log1p(exp(-abs(x)))", {}),
    "Softsign": ("x / (1 + abs(x))", {}),
    "Sqrt": ("sqrt(x)", {}),
    "Swish": ("x * sigmoid(alpha * x)", {"alpha": 1.0}),
    "Tan": ("sin(x) / cos(x)", {}),
    "Tanh": ("tanh(x)", {}),
    "ThresholdedRelu": ("x where x > alpha else 0", {"alpha": 1.0}),
}
GELU = {"none": "x * (1 + erf(x / sqrt(2))) / 2",
        "tanh": "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2"}
INT_TO_INT = ("Abs", "Identity", "Neg", "Relu", "Sign")
LIKE_INT = ("Ceil", "Floor", "Round")  # ints in attnc, reals in ONNX

# op: (the value, for operands x, y, ...; the kinds of operands it takes).
ARITHMETIC = {
    "Add": ("{0} + {1}", ("", "int")), "Sub": ("{0} - {1}", ("", "int")),
    "Mul": ("{0} * {1}", ("", "int")), "Div": ("{0} / {1}", ("",)), "Pow": ("{0}^{1}", ("",)),
    "PRelu": ("{0} where {0} >= 0 else {1} * {0}", ("", "int")),
    "And": ("{0} and {1}", ("bool",)), "Or": ("{0} or {1}", ("bool",)),
    "Not": ("not {0}", ("bool",)),
    "Equal": ("{0} == {1}", ("", "int")), "Less": ("{0} < {1}", ("", "int")),
    "LessOrEqual": ("{0} <= {1}", ("", "int")), "Greater": ("{0} > {1}", ("", "int")),
    "GreaterOrEqual": ("{0} >= {1}", ("", "int")),
    "Where": ("{1} where {0} else {2}", ("", "int", "bool")),
    "SwiGLU": ("{0} * sigmoid(alpha * {0}) * {1}", ("",)),
}


def whole(op, p, name, text, consts):
    """y = f(x) for a function of one number."""
    role, out = op.order[0], next(iter(op.outputs))
    axes, _ = letters(len(op.shape(role)))
    kind = op.kind(role)
    if kind == "bool" or (kind == "int" and op.op not in INT_TO_INT):
        raise Skip(f"{op.op} of {op.dtype(role)}")
    lines = [f"const {n} = {number(v)}" for n, v in consts.items()] + [f"return {text}"]
    body = "\n".join("  " + line for line in lines)
    result = "int" if kind == "int" or op.op in LIKE_INT else "real"
    p.function(f"fn {name}(x: {kind or 'real'}) -> {result} {{\n{body}\n}}")
    op.input(p, role, "x", axes)
    op.result(p, out, "y", axes)
    p.equation("y", f"{name}(x)")


def activation(op, p):
    text, attributes = ACTIVATIONS[op.op]
    consts = {n: op.attr(n, default) for n, default in attributes.items()}
    whole(op, p, op.op.lower() + "_of", text, consts)


def gelu(op, p):
    whole(op, p, "gelu", GELU[op.attr("approximate", "none")], {})


def arithmetic(op, p):
    text, kinds = ARITHMETIC[op.op]
    operands(op, p, text, kinds)


def swiglu(op, p):
    p.const("alpha", number(op.attr("alpha", 1.0)))
    arithmetic(op, p)


def extreme(op, p):
    """Max and Min take any number of operands."""
    names = ", ".join(f"{{{k}}}" for k in range(len(op.order)))
    operands(op, p, f"{op.op.lower()}({names})" if len(op.order) > 1 else "{0}", ("", "int"))


def operands(op, p, text, kinds):
    out = next(iter(op.outputs))
    if any(op.kind(r) not in (*kinds, "bool" if op.op == "Where" else None) for r in op.order):
        raise Skip(f"{op.op} of {', '.join(op.dtype(r) for r in op.order)}")
    full = broadcast_shape([op.shape(r) for r in op.order])
    axes, index = letters(len(full))
    reads = []
    for n, role in enumerate(op.order):
        own, place = stretched(op.shape(role), full, axes, index)
        op.input(p, role, f"x{n + 1}", own)
        reads.append(at(f"x{n + 1}", place))
    op.result(p, out, "y", axes)
    p.equation(at("y", index), text.format(*reads))


def clip(op, p):
    """Bounds are operands of rank 0, both optional."""
    axes, _ = letters(len(op.shape("input")))
    if op.kind("input") == "bool":
        raise Skip("Clip of bools")
    op.input(p, "input", "x", axes)
    text = "x"
    for role, function in (("min", "max"), ("max", "min")):  # min wins where they cross: it is last
        if op.has(role):
            op.input(p, role, "lowest" if role == "min" else "highest", [])
            text = f"{function}({text}, {'lowest' if role == 'min' else 'highest'})"
    op.result(p, "output", "y", axes)
    p.equation("y", text)


OPERATORS = {**{name: activation for name in ACTIVATIONS},
             **{name: arithmetic for name in ARITHMETIC},
             "Gelu": gelu, "SwiGLU": swiglu, "Max": extreme, "Min": extreme, "Clip": clip}
