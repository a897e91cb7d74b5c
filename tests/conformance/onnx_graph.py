"""A graph attribute (score_mod, prob_mod) as a function of one score and its place.

The graph works on whole tensors, a function on one element. So every value of the graph is kept as
its shape and a way to read one element of it: the text of an expression (the language of
expression.py) for given texts of indices. A shape taken apart and put together again (Shape,
Gather, Range, Reshape, Unsqueeze) is followed symbolically."""
from expression import Translation
from program import Skip, number

SIZES = ("B", "HQ", "SQ", "SKV")
ELEMENTWISE = {"Add": "({} + {})", "Sub": "({} - {})", "Mul": "({} * {})", "Div": "({} / {})",
               "Pow": "({} ** {})", "Less": "({} < {})", "LessOrEqual": "({} <= {})",
               "Greater": "({} > {})", "GreaterOrEqual": "({} >= {})", "Equal": "({} == {})",
               "And": "({} and {})", "Or": "({} or {})", "Where": "where({}, {}, {})",
               "Max": "max({}, {})", "Min": "min({}, {})", "Not": "(not {})", "Neg": "(-{})",
               "Identity": "{}", "Mod": "({} % {})",
               **{f: f.lower() + "({})" for f in (
                   "Abs", "Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Relu", "Sin", "Cos", "Erf",
                   "Floor", "Ceil", "Round", "Sign", "Softplus")}}


BOOLEAN = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "And", "Or", "Not")
TO_BOOL, TO_NUMBER = 9, (1, 6, 7, 10, 11)  # ONNX's types: bool; float, int32, int64, half, double


class Value:
    """A tensor of the graph. `shape`: sizes as texts, "1" for an axis that is stretched."""

    def __init__(self, shape, read, is_bool=False):
        self.shape = shape
        self.read = read
        self.is_bool = is_bool


def scalar(text):
    return Value([], lambda _: text)


def stored(about):
    """An initializer: a number, or a short list of them (a shape)."""
    def text(x):
        x = float(x) if about["dtype"][0] in "FB" and about["dtype"] != "BOOL" else x
        if isinstance(x, float):
            return f"({number(x)})" if x < 0 else number(x)
        return f"({x})" if x < 0 else str(x)
    data = about["data"]
    if not about["shape"]:
        return scalar(text(data[0] if isinstance(data, list) else data))
    if len(about["shape"]) == 1:
        return [text(x) for x in data]
    if all(n == 1 for n in about["shape"]):
        return Value(["1"] * len(about["shape"]), lambda _: text(data[0]))
    raise Skip(f"a graph with a stored tensor of shape {about['shape']}")


def as_value(v):
    """A list of one number is a tensor too."""
    if isinstance(v, Value):
        return v
    if len(v) == 1:
        return Value(["1"], lambda _: v[0])
    raise Skip("a graph that computes with shapes")


def elementwise(template, operands, is_bool=False):
    values = [as_value(v) for v in operands]
    rank = max(len(v.shape) for v in values)
    shape = ["1"] * rank
    for v in values:
        for k, n in enumerate(v.shape):
            if n != "1":
                shape[rank - len(v.shape) + k] = n

    def read(index):
        texts = [v.read(index[rank - len(v.shape):]) for v in values]
        return template.format(*texts)
    return Value(shape, read, is_bool)


def integers(v):
    try:
        return [int(x.strip("()")) for x in (v if isinstance(v, list) else [v.read([])])]
    except ValueError:
        raise Skip("a graph with a shape that is computed") from None


def reshape(value, target):
    """Only axes of length 1 come and go."""
    target, long = integers(target), [n for n in value.shape if n != "1"]
    if len(long) > 1 or sum(n != 1 for n in target) != len(long):
        raise Skip(f"a graph with Reshape to {target}")
    shape = [long[0] if n != 1 else "1" for n in target]
    at_new = next((k for k, n in enumerate(target) if n != 1), None)

    def read(index):
        return value.read([index[at_new] if n != "1" else "0" for n in value.shape])
    return Value(shape, read, value.is_bool)


def unsqueeze(value, axes):
    value, axes = as_value(value), integers(axes)
    rank = len(value.shape) + len(axes)
    new = {a % rank for a in axes}
    old = [k for k in range(rank) if k not in new]
    shape = ["1" if k in new else value.shape[old.index(k)] for k in range(rank)]
    return Value(shape, lambda index: value.read([index[k] for k in old]), value.is_bool)


def cast(value, to):
    """Reals and ints meet by themselves; a bool is never a number."""
    if isinstance(value, list):
        return value
    if to == TO_BOOL:
        return value if value.is_bool else elementwise("({} != 0)", [value], True)
    if to not in TO_NUMBER:
        raise Skip(f"a graph with Cast to type {to}")
    return elementwise("where({}, 1, 0)", [value]) if value.is_bool else value


def node_value(node, operands):
    op, attributes = node["op"], node["attributes"]
    if op == "Shape":
        shape = operands[0].shape
        return shape[attributes.get("start", 0):attributes.get("end", len(shape))]
    if op == "Gather" and isinstance(operands[0], list) and attributes.get("axis", 0) == 0:
        picked = [operands[0][k] for k in integers(operands[1])]
        return picked if isinstance(operands[1], list) else scalar(picked[0])
    if op == "Squeeze":
        return scalar(as_value(operands[0]).read(["0"]))
    if op == "Range":
        first, limit, step = (as_value(v).read([]) for v in operands)
        if (first, step) != ("0", "1"):
            raise Skip(f"a graph with Range from {first} by {step}")
        return Value([limit], lambda index: index[0])
    if op == "Reshape":
        return reshape(as_value(operands[0]), operands[1])
    if op == "Unsqueeze":
        return unsqueeze(operands[0], operands[1])
    if op == "Cast":
        return cast(operands[0], attributes["to"])
    if op == "Constant" and "value" in attributes:
        return stored(attributes["value"])
    if op == "Constant" and len(attributes) == 1:
        ((name, x),) = attributes.items()
        if name in ("value_float", "value_int"):
            return scalar(number(x) if name == "value_float" else str(x))
    if op not in ELEMENTWISE:
        raise Skip(f"a graph with the operator {op}")
    return elementwise(ELEMENTWISE[op], operands, op in BOOLEAN)


def modification(graph, name, heads, p):
    """(the text of a function, how it is called for the text of a score)."""
    (given,), (out,) = graph["inputs"], graph["outputs"]
    values = {given["name"]: Value(list(SIZES), lambda _: "s")}
    values.update({i["name"]: stored(i) for i in graph["initializers"]})
    for node in graph["nodes"]:
        if len(node["outputs"]) != 1:
            raise Skip(f"a graph with {node['op']} of several results")
        try:
            operands = [values[n] for n in node["inputs"] if n]
        except KeyError as e:
            raise Skip(f"a graph that reads {e} from outside") from None
        values[node["outputs"][0]] = node_value(node, operands)
    value = as_value(values[out["name"]])
    index = ["b", "h", "i", "j"][4 - len(value.shape):]
    t = Translation(value.read(index))
    for module in t.modules:
        p.use(module)
    passed = {"s": None, "b": "b", "h": heads.number, "i": "i", "j": "j", "B": "B",
              "HQ": heads.count, "SQ": "T", "SKV": "S"}
    names = [n for n in passed if n in t.free]
    formals = ", ".join(f"{n}: {'real' if n == 's' else 'int'}" for n in names)

    def call(score):
        return f"{name}({', '.join(passed[n] or score for n in names)})"
    return f"score {name}({formals}) {{\n  return {t.text}\n}}", call
