"""The program that a case becomes: what the generators of all suites build on.

A generator adds functions, inputs, results and equations; `text` puts them in order. Not here: what
any operator means, and how programs are run."""
import math
import struct
import textwrap


class Skip(Exception):
    """The case is outside the language or outside what the generators know; says why."""


# What the language takes for an element type of a file: a real, an int or a bool.
KINDS = {"F64": "", "F32": "", "F16": "", "BF16": "", "I64": "int", "I32": "int", "I16": "int",
         "I8": "int", "U8": "int", "BOOL": "bool"}


def kind_of(dtype):
    """"" (real), "int" or "bool"."""
    if dtype not in KINDS:
        raise Skip(f"element type {dtype} is outside the language")
    return KINDS[dtype]


def type_of(dtype, axes):
    """`int[B, T]`; without axes the scalar types are written out."""
    kind = kind_of(dtype)
    return f"{kind}[{', '.join(axes)}]" if axes else kind or "real"


def number(x):
    """A real as a person would write it: the shortest text that is the same float32."""
    x = float(x)
    if math.isnan(x) or math.isinf(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"

    def single(y):
        return struct.pack("<f", y)
    if abs(x) < 3e38:
        for digits in range(1, 10):
            text = f"{x:.{digits}g}"
            if single(float(text)) == single(x):
                break
    else:
        text = repr(x)
    return text if any(c in text for c in ".en") else text + ".0"


def comment(text):
    return "\n".join(textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# "))


class Program:
    def __init__(self, title):
        self.title = title
        self.imports = []
        self.constants = []   # "dim G = 3", "const eps = 1e-5"
        self.functions = []   # whole texts
        self.inputs = []      # "x: [B, T, E]"
        self.results = []     # "y: [B, T, E]"
        self.locals = []      # "z: [B, K + T]"
        self.equations = []
        self.tensors = {}     # name in the program: Tensor
        self.wanted = {}      # name in the program: name in the expected file
        self.real = "f32"

    def use(self, module):
        if module not in self.imports:
            self.imports.append(module)

    def function(self, text):
        if text not in self.functions:
            self.functions.append(text)

    def const(self, name, value):
        self.constants.append(f"const {name} = {value}")

    def dim(self, name, size):
        self.constants.append(f"dim {name} = {size}")

    def input(self, name, dtype, axes, tensor):
        self.inputs.append(f"{name}: {type_of(dtype, axes)}")
        self.tensors[name] = tensor
        self.meets(dtype)

    def result(self, name, dtype, axes, expected):
        self.results.append(f"{name}: {type_of(dtype, axes)}")
        self.wanted[name] = expected
        self.meets(dtype)

    def meets(self, dtype):
        if dtype == "F64":
            self.real = "f64"

    def local(self, name, axes):
        self.locals.append(f"{name}: [{', '.join(axes)}]")

    def equation(self, left, right):
        self.equations.append(f"{left} = {right}")

    def text(self):
        parts = [comment(self.title)]
        parts += ["\n".join(f'import "{m}"' for m in self.imports)] if self.imports else []
        parts += ["\n".join(self.constants)] if self.constants else []
        parts += self.functions
        body = "\n".join(f"  {line}" for line in self.locals + self.equations)
        parts.append(f"model run({', '.join(self.inputs)})\n"
                     f"    -> ({', '.join(self.results)}) {{\n{body}\n}}")
        return "\n\n".join(parts) + "\n"
