"""use.py - calls a compiled model from Python by ctypes: the same as use.c.

attnc build examples/rnn_self_attention.attn --entry run -o librsa.so
python3 examples/embed/use.py
"""

import ctypes

lib = ctypes.CDLL("./librsa.so")
lib.run_workspace.restype = ctypes.c_size_t

B, T, D, H = 1, 3, 1, 2


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


def pointers(*tensors):
    return (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))


# Each struct of librsa.h is an array here: its fields in order.
dims = (ctypes.c_int64 * 4)(B, T, D, H)
A, b = floats(2, 0, 0, -2, 0, 0), floats(0, 0)
x = floats(1, -1, 1)
h, c, alpha = (ctypes.c_float * 6)(), (ctypes.c_float * 6)(), (ctypes.c_float * 9)()

size = lib.run_workspace(dims, 1)
block = ctypes.create_string_buffer(size + 64)
work = ctypes.c_void_p((ctypes.addressof(block) + 63) // 64 * 64)  # ATTN_BLOCK_ALIGN
status = lib.run(dims, pointers(A, b), None, pointers(x), pointers(h, c, alpha), work, None)
if status:
    raise SystemExit(f"status {status}: see attn_abi.h")
for t in range(T):
    print(*(f"{a:.3f}" for a in alpha[T * t : T * t + T]))
