"""RNN, GRU and LSTM: a cell as a function, and an equation for every direction that runs it.

    W: [Dirs, (K, H), E]   K gates    R: [Dirs, (K, H), H]    B: [Dirs, (2, K, H)] input's, state's

h is the state of the forward direction and g of the reverse one; c and d are the LSTM's cells. A
step t >= n[b] keeps the state and gives 0."""
from onnx_activation import activation
from program import Skip

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


class Cell:
    """One direction's cell: its text, and how it is called."""

    def __init__(self, op, p, number, functions, clip):
        self.op = op
        self.f = functions
        self.clip = clip
        self.name = op.op.lower() + "_cell" + ("" if number == 0 else f"_{number + 1}")
        formals = ["x: [E]", "h: [H]"]
        results = "[H]"
        if op.op == "LSTM":
            formals.append("c: [H]")
            results = "(h1: [H], c1: [H])"
        gates = GATES[op.op]
        packed = f"({gates}, H)"
        formals += [f"W: [{packed}, E]", f"R: [{packed}, H]"]
        if op.has("B"):
            formals.append(f"B: [(2, {gates}, H)]")
        if op.has("P"):
            formals.append("P: [(3, H)]")
        lines = getattr(self, op.op.lower())()
        body = "\n".join("  " + line for line in lines)
        self.text = f"fn {self.name}({', '.join(formals)}) -> {results} {{\n{body}\n}}"

    def bias(self, k, part):
        return f" + B[{part}, {k}]" if self.op.has("B") else ""

    def gate(self, k, function, state="h", extra=""):
        """function(W x + b + R h + b), gate k."""
        text = f"W[{k}] @ x{self.bias(k, 0)} + R[{k}] @ {state}{self.bias(k, 1)}{extra}"
        return self.apply(function, text)

    def apply(self, function, text):
        if self.clip is not None:
            text = f"clamp({text}, -{self.clip}, {self.clip})"
        return f"{function}({text})"

    def rnn(self):
        return [f"return {self.gate(0, self.f[0])}"]

    def gru(self):
        f, g = self.f
        lines = [f"z = {self.gate(0, f)}", f"r = {self.gate(1, f)}"]
        if self.op.attr("linear_before_reset", 0):
            text = f"W[2] @ x{self.bias(2, 0)} + r * (R[2] @ h{self.bias(2, 1)})"
            lines.append(f"n = {self.apply(g, text)}")
        else:
            lines.append(f"n = {self.gate(2, g, '(r * h)')}")
        return [*lines, "return (1 - z) * n + z * h"]

    def lstm(self):
        f, g, h = self.f
        peep = [f" + P[{k}] * {c}" if self.op.has("P") else "" for k, c in ((0, "c"), (1, "c1"),
                                                                           (2, "c"))]
        lines = [f"i = {self.gate(0, f, extra=peep[0])}"]
        lines.append("f = 1 - i" if self.op.attr("input_forget", 0)
                     else f"f = {self.gate(2, f, extra=peep[2])}")
        return [*lines, f"c1 = f * c + i * {self.gate(3, g)}",
                f"o = {self.gate(1, f, extra=peep[1])}", f"h1 = o * {h}(c1)"]


def functions_of(op, p, directions):
    """The names of the activations, for each direction."""
    per = len(DEFAULTS[op.op])
    names = op.attr("activations") or DEFAULTS[op.op] * directions
    alphas, betas = list(op.attr("activation_alpha", [])), list(op.attr("activation_beta", []))
    if len(names) != per * directions:
        raise Skip(f"{op.op} with activations {names}")
    made = [activation(p, name, alphas, betas) for name in names]
    return [made[k * per:(k + 1) * per] for k in range(directions)]


def recurrent(op, p):
    direction = op.attr("direction", "forward")
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    batch_first = op.attr("layout", 0)
    clip = op.attr("clip")
    op.attr("hidden_size")  # R's own
    lstm, gates, dirs = op.op == "LSTM", GATES[op.op], str(len(backward))
    functions = functions_of(op, p, len(backward))
    cells = []
    for k, own in enumerate(functions):
        same = next((c for c in cells if c.f == own), None)
        cells.append(same or Cell(op, p, k, own, None if clip is None else float(clip)))
    for cell in dict.fromkeys(cells):
        p.function(cell.text)

    op.input(p, "X", "x", ["B", "T", "E"] if batch_first else ["T", "B", "E"])
    op.input(p, "W", "W", [dirs, f"({gates}, H)", "E"])
    op.input(p, "R", "R", [dirs, f"({gates}, H)", "H"])
    if op.has("B"):
        op.input(p, "B", "bias", [dirs, f"(2, {gates}, H)"])
    if op.has("P"):
        op.input(p, "P", "P", [dirs, "(3, H)"])
    state = ["B", dirs, "H"] if batch_first else [dirs, "B", "H"]
    for role, name in (("initial_h", "h0"), ("initial_c", "c0")):
        if op.has(role):
            op.input(p, role, name, state)
    lengths = op.has("sequence_lens")
    if lengths:
        op.input(p, "sequence_lens", "n", ["B"])

    def place(k):
        return f"[b, {k}]" if batch_first else f"[{k}, b]"
    results = [("Y", "y", ["B", "T", dirs, "H"] if batch_first else ["T", dirs, "B", "H"]),
               ("Y_h", "y_h", state), ("Y_c", "y_c", state)]
    for role, name, axes in results:
        if op.wants(role):
            op.result(p, role, name, axes)
    for k, (back, cell) in enumerate(zip(backward, cells)):
        h, c = ("g", "d") if back else ("h", "c")
        before, first, last = ("t+1", "T", "0") if back else ("t-1", "-1", "T-1")
        p.local(h, ["T", "B", "H"])
        p.equation(f"{h}[{first}, b]", f"h0{place(k)}" if op.has("initial_h") else "0")
        old, new = f"{h}[{before}, b]", f"{h}[t, b]"
        arguments = ["x[b, t]" if batch_first else "x[t, b]", old]
        if lstm:
            p.local(c, ["T", "B", "H"])
            p.equation(f"{c}[{first}, b]", f"c0{place(k)}" if op.has("initial_c") else "0")
            arguments.append(f"{c}[{before}, b]")
            old, new = f"({old}, {c}[{before}, b])", f"({new}, {c}[t, b])"
        arguments += [f"W[{k}]", f"R[{k}]"]
        arguments += op.has("B") * [f"bias[{k}]"] + op.has("P") * [f"P[{k}]"]
        step = f"{cell.name}({', '.join(arguments)})"
        p.equation(new, f"{step} where t < n[b] else {old}" if lengths else step)
        if op.wants("Y"):
            index = f"[b, t, {k}]" if batch_first else f"[t, {k}, b]"
            p.equation(f"y{index}", f"{h}[t, b]" + (" where t < n[b]" if lengths else ""))
        if op.wants("Y_h"):
            p.equation(f"y_h{place(k)}", f"{h}[{last}, b]")
        if op.wants("Y_c"):
            p.equation(f"y_c{place(k)}", f"{c}[{last}, b]")


OPERATORS = {name: recurrent for name in GATES}
