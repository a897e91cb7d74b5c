#!/usr/bin/env python3
"""Tensor files for the tests of the command line, without numpy.

    tensors.py write FILE NAME:TYPE:SHAPE[=V,V,...]...   .safetensors, .npz or .npy; SHAPE as 2x3, or - for rank 0;
                                                         values repeat as needed (default 0.5)
    tensors.py raw FILE JSON [BYTES]                     a .safetensors with this header and so many zero bytes
    tensors.py read FILE [NAME]                          NAME TYPE SHAPE values, one tensor to a line
"""
import io
import json
import struct
import sys
import zipfile

TYPES = {"F32": ("f", "<f4"), "F64": ("d", "<f8"), "I64": ("q", "<i8"), "I32": ("i", "<i4"),
         "U8": ("B", "|u1"), "BOOL": ("?", "|b1"), "F16": ("e", "<f2"), "I16": ("h", "<i2")}


def pack(spec):
    head, _, values = spec.partition("=")
    name, kind, shape = head.rsplit(":", 2)
    shape = [] if shape == "-" else [int(n) for n in shape.split("x")]
    count = 1
    for n in shape:
        count *= n
    numbers = [float(v) for v in values.split(",")] if values else [0.5]
    cast = float if kind[0] == "F" else bool if kind == "BOOL" else int
    data = struct.pack(f"<{count}{TYPES[kind][0]}", *[cast(numbers[i % len(numbers)]) for i in range(count)])
    return name, kind, shape, data


def npy(kind, shape, data):
    text = f"{{'descr': '{TYPES[kind][1]}', 'fortran_order': False, 'shape': ({''.join(f'{n},' for n in shape)}), }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def write(path, specs):
    tensors = [pack(s) for s in specs]
    if path.endswith(".npz"):
        with zipfile.ZipFile(path, "w") as z:
            for name, kind, shape, data in tensors:
                z.writestr(name + ".npy", npy(kind, shape, data))
    elif path.endswith(".npy"):
        with open(path, "wb") as f:
            f.write(npy(*tensors[0][1:]))
    else:
        header, body = {}, b""
        for name, kind, shape, data in tensors:
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
            body += data
        raw(path, json.dumps(header), body)


def raw(path, header, body):
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header.encode())) + header.encode() + body)


def numbers(kind, shape, data):
    count = 1
    for n in shape:
        count *= n
    return struct.unpack(f"<{count}{TYPES[kind][0]}", data)


def read_npy(data):
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size].decode(), {})  # our own output
    kind = next(k for k, v in TYPES.items() if v[1][1:] == header["descr"][1:])
    return kind, list(header["shape"]), data[10 + size:]


def read(path, only=None):
    with open(path, "rb") as f:
        data = f.read()
    found = {}
    if path.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            for name in z.namelist():
                found[name[:-4]] = read_npy(z.read(name))
    elif path.endswith(".npy"):
        found["-"] = read_npy(data)
    else:
        size = struct.unpack("<Q", data[:8])[0]
        for name, t in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = t["data_offsets"]
                found[name] = (t["dtype"], t["shape"], data[8 + size + begin:8 + size + end])
    for name, (kind, shape, part) in sorted(found.items()):
        if only in (None, name):
            text = " ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in numbers(kind, shape, part))
            print(name, kind, "x".join(map(str, shape)) or "-", text)


if __name__ == "__main__":
    what, path, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "write":
        write(path, rest)
    elif what == "raw":
        raw(path, rest[0], bytes(int(rest[1]) if len(rest) > 1 else 0))
    else:
        read(path, *rest)
