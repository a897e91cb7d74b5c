"""ONNX operators (the onnx cases): which file knows which operator, and what they share.

A generator is a function of (Operator, Program); the table below is made of the tables of the
onnx_*.py files. It asks for attributes and operands by name; whatever a case has and its generator
did not ask for is a SKIP, never ignored."""
import importlib
import string

from program import Program, Skip, kind_of, number

FAMILIES = ("onnx_attention", "onnx_linear", "onnx_rnn", "onnx_norm", "onnx_reduce",
            "onnx_pointwise", "onnx_product", "onnx_index", "onnx_conv", "onnx_rotary")


class Operator:
    """The operator of one case."""

    def __init__(self, about, tensors):
        self.op = about["op"]
        self.opset = about["opset"]
        self.attributes = about["attributes"]
        self.tensors = tensors
        self.inputs = {i["role"]: i for i in about["inputs"]}
        self.order = [i["role"] for i in sorted(about["inputs"], key=lambda i: i["position"])]
        self.outputs = {o["role"]: o for o in about["outputs"]}
        self.asked = set()

    def attr(self, name, default=None):
        self.asked.add(("attribute", name))
        return self.attributes.get(name, default)

    def has(self, role):
        return role in self.inputs

    def wants(self, role):
        return role in self.outputs

    def shape(self, role):
        return (self.inputs.get(role) or self.outputs[role])["shape"]

    def dtype(self, role):
        return (self.inputs.get(role) or self.outputs[role])["dtype"]

    def kind(self, role):
        return kind_of(self.dtype(role))

    def data(self, role):
        """The numbers of an operand that the program depends on (axes): read here, not by the
        program."""
        self.asked.add(("operand", role))
        return self.tensors[self.inputs[role]["name"]].values

    def input(self, p, role, name, axes):
        """Makes an operand an input of the program."""
        self.asked.add(("operand", role))
        about = self.inputs[role]
        p.input(name, about["dtype"], axes, self.tensors[about["name"]])

    def result(self, p, role, name, axes):
        self.asked.add(("result", role))
        about = self.outputs[role]
        p.result(name, about["dtype"], axes, about["name"])

    def left_over(self):
        given = ([("attribute", n) for n in self.attributes] + [("operand", r) for r in self.inputs]
                 + [("result", r) for r in self.outputs])
        return [f"{what} {name}" for what, name in given if (what, name) not in self.asked]


def letters(n):
    """n names of axes and n indices to go with them."""
    if n > 20:
        raise Skip(f"{n} axes")
    return list(string.ascii_uppercase[:n]), list(string.ascii_lowercase[:n])


def axis_of(op, axis, rank):
    if not -rank <= axis < rank:
        raise Skip(f"axis {axis} of {rank}")
    return axis % rank


def stretched(shape, full, axes, index):
    """How a tensor of `shape`, stretched (right-aligned) to the shape `full` with the given names,
    is declared and read: (axes, index). An axis of length 1 is read at 0."""
    skip = len(full) - len(shape)
    own = [(n == 1 and m != 1) for n, m in zip(shape, full[skip:])]
    return (["1" if one else a for one, a in zip(own, axes[skip:])],
            ["0" if one else i for one, i in zip(own, index[skip:])])


def at(name, index):
    """`x[a, b]`, or `x` where there is no index."""
    return f"{name}[{', '.join(index)}]" if index else name


def broadcast_shape(shapes):
    rank = max(map(len, shapes))
    full = []
    for k in range(rank):
        sizes = {s[k - rank + len(s)] for s in shapes if k - rank + len(s) >= 0} - {1}
        if len(sizes) > 1:
            raise Skip(f"shapes {shapes} do not go together")
        full.append(sizes.pop() if sizes else 1)
    return full


def operators():
    table = {}
    for family in FAMILIES:
        table.update(importlib.import_module(family).OPERATORS)
    return table


def generate(about, tensors):
    op = Operator(about, tensors)
    make = operators().get(op.op)
    if make is None:
        raise Skip(f"no rule for the operator {op.op}")
    for role in (*op.inputs, *op.outputs):
        op.kind(role)  # element types first: the plainest reason
    given = ", ".join(f"{k} = {number(v) if isinstance(v, float) else v}"
                      for k, v in op.attributes.items() if not isinstance(v, dict))
    p = Program(f"{op.op}" + (f": {given}" if given else "") + ".")
    make(op, p)
    rest = op.left_over()
    if rest:
        raise Skip(f"{op.op}: no rule for {', '.join(rest)}")
    return p
