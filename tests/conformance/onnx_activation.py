"""The activations that RNN, GRU and LSTM name, as functions of the program."""
from program import Skip, number

BUILT_IN = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}
# name: (what it is of a number x, alpha's default, beta's default); None: it has none.
DEFINED = {
    "affine": ("alpha * x + beta", 1.0, 0.0),
    "leakyrelu": ("x where x >= 0 else alpha * x", 0.01, None),
    "thresholdedrelu": ("x where x >= alpha else 0", 1.0, None),
    "scaledtanh": ("alpha * tanh(beta * x)", 1.0, 1.0),
    "hardsigmoid": ("clamp(alpha * x + beta, 0, 1)", 0.2, 0.5),
    "elu": ("x where x >= 0 else alpha * expm1(x)", 1.0, None),
    "softsign": ("x / (1 + abs(x))", None, None),
    "softplus": ("max(x, 0) + log1p(exp(-abs(x)))", None, None),
}


def activation(p, name, alphas, betas):
    """The name to call it by; takes its numbers off the front of the lists."""
    key = name.lower()
    if key in BUILT_IN:
        return BUILT_IN[key]
    if key not in DEFINED:
        raise Skip(f"activation {name}")
    text, alpha, beta = DEFINED[key]
    lines = []
    for given, letter, default in ((alphas, "alpha", alpha), (betas, "beta", beta)):
        if default is not None:
            lines.append(f"const {letter} = {number(given.pop(0) if given else default)}")
    lines.append(f"return {text}")
    body = "\n".join("  " + line for line in lines)
    for n in range(1, 10):
        unique = f"{key}_{n}"
        whole = f"fn {unique}(x: real) -> real {{\n{body}\n}}"
        if whole in p.functions or not any(f"fn {unique}(" in f for f in p.functions):
            p.function(whole)
            return unique
    raise Skip("too many different activations")
