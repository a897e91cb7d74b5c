"""What runners of recorded cases share: tensor files, comparison, finding cases, running a command.

Not which program computes a case: that is the runners' own (golden/run, conformance/run).
Needs only python3's standard library."""
import json
import math
import os
import shlex
import struct
import subprocess

TIMEOUT = 300  # seconds for one command
SKIP_CODE = 77  # ctest's word for a test that had nothing to do


class Failed(Exception):
    """A command did not do what it should."""


# ---- tensor files -------------------------------------------------------------------------------

# safetensors' name: struct's letter. BF16 is read as F32.
DTYPES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H", "I64": "q", "I32": "i", "I16": "h",
          "I8": "b", "U64": "Q", "U32": "I", "U16": "H", "U8": "B", "BOOL": "B"}
REALS = ("F64", "F32", "F16")


class Tensor:
    """An element type by safetensors' name, a shape, and the flat list of its numbers."""

    def __init__(self, dtype, shape, values):
        self.dtype = dtype
        self.shape = shape
        self.values = values

    @property
    def real(self):
        return self.dtype in REALS


def load(path):
    """Name -> Tensor."""
    with open(path, "rb") as f:
        data = f.read()
    (n,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, head in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = head["data_offsets"]
        letter = DTYPES[head["dtype"]]
        raw = data[8 + n + begin:8 + n + end]
        values = list(struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw))
        dtype = head["dtype"]
        if dtype == "BF16":
            values = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values]
            dtype = "F32"
        tensors[name] = Tensor(dtype, head["shape"], values)
    return tensors


def save(path, tensors):
    """Writes name -> Tensor."""
    heads, blocks, at = {}, [], 0
    for name, t in tensors.items():
        raw = struct.pack(f"<{len(t.values)}{DTYPES[t.dtype]}", *t.values)
        heads[name] = {"dtype": t.dtype, "shape": t.shape, "data_offsets": [at, at + len(raw)]}
        blocks.append(raw)
        at += len(raw)
    text = json.dumps(heads).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))


# ---- comparison ---------------------------------------------------------------------------------

def position(at, shape):
    """The flat index `at` as indices."""
    out = []
    for size in reversed(shape):
        out.append(at % size)
        at //= size
    return list(reversed(out))


def kind(x):
    """NaN, inf and -inf must meet their like; everything else is a number."""
    return "nan" if math.isnan(x) else x if math.isinf(x) else "number"


def compare(expected, actual, rtol, atol):
    """None, or what is wrong in one line. Results that were not expected are ignored."""
    wrong = []
    for name, e in expected.items():
        if name not in actual:
            wrong.append(f"{name} is missing")
            continue
        got, want = actual[name].values, e.values
        if actual[name].shape != e.shape:
            wrong.append(f"{name} has shape {actual[name].shape}, expected {e.shape}")
            continue
        bad = [i for i, (a, b) in enumerate(zip(got, want)) if kind(a) != kind(b)]
        if not bad:
            bad = [i for i, (a, b) in enumerate(zip(got, want)) if kind(b) == "number"
                   and not (abs(a - b) <= atol + rtol * abs(b) if e.real else a == b)]
        if bad:
            at = bad[0]
            wrong.append(f"{name}{position(at, e.shape)} is {got[at]!r}, expected {want[at]!r} "
                         f"({len(bad)} of {len(want)} elements)")
    return "; ".join(wrong) or None


# ---- cases and commands -------------------------------------------------------------------------

def find_cases(folders):
    """Every case at or below the folders, in order, each once."""
    found = {}
    for top in folders:
        for folder, below, files in os.walk(top):
            below.sort()
            if "case.json" in files:
                found.setdefault(os.path.realpath(folder), folder)
    return list(found.values())


def command(words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {TIMEOUT} s: {shlex.join(words)}") from None
    except OSError as e:
        raise Failed(f"{words[0]}: {e.strerror}") from None
    if done.returncode:
        lines = [s.strip() for s in done.stdout.decode(errors="replace").splitlines() if s.strip()]
        error = next((s for s in lines if "error" in s), lines[-1] if lines else "no message")
        how = f"exit {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise Failed(f"{how}: {error} [{shlex.join(words)}]")
