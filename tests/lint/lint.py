#!/usr/bin/env python3
"""What holds for the sources and objects as a whole.

    tests/lint/lint.py includes|sizes|state|format SOURCE BUILD

includes  who may include what: the table below
sizes     no source file is longer than 800 lines or, but for tables, wider than 120 columns
state     no object file of ours defines a variable that can be written
format    clang-format changes nothing (skipped where its version 14, Debian 12's, is not installed)
"""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
OURS = ("ir", "passes", "frontend", "backend", "runtime", "tests")
MAX_LINES = 800
FORMATTER = 14  # Debian 12's clang-format

# Folder: what its files may include, by the first part of the path that matches. "public" are the headers that a
# folder offers to others. Longest folder first.
TABLE = {
    "ir/base": {"project": ["ir/base/"], "foreign": ["utf8proc.h"]},
    "ir": {"project": ["ir/"], "foreign": []},
    "frontend/cli": {
        "project": ["frontend/cli/", "frontend/frontend.h", "frontend/ast.h", "ir/base/", "ir/graph/graph.h",
                    "ir/graph/op.h", "ir/graph/dim.h", "ir/kernel/kernel.h", "ir/interp.h", "passes/passes.h",
                    "passes/cost.h", "passes/explain.h", "backend/backend.h",
                    "runtime/attn_abi.h", "runtime/alloc.h", "runtime/text.h",
                    "runtime/extent.h", "runtime/solve.h", "runtime/pool.h", "runtime/cpu.h", "runtime/io/io.h",
                    "runtime/io/tensor.h", "runtime/io/half.h"],
        "foreign": ["pthread.h", "immintrin.h", "arm_neon.h"]},
    "frontend": {"project": ["frontend/", "ir/"], "foreign": ["utf8proc.h"],
                 "never": ["frontend/cli/"]},
    "passes": {"project": ["passes/", "ir/", "runtime/attn_abi.h"], "foreign": []},
    "backend": {"project": ["backend/", "ir/", "runtime/attn_abi.h"],
                "foreign": ["llvm-c/", "llvm/Config/llvm-config.h", "pthread.h", "spawn.h"]},
    "runtime/io": {"project": ["runtime/"], "foreign": ["jansson.h", "zip.h", "pthread.h"]},
    "runtime": {"project": ["runtime/"], "foreign": ["pthread.h", "sched.h"], "never": ["runtime/io/"]},
}

# libc and POSIX.
SYSTEM = re.compile(r"^(assert|ctype|dirent|errno|fcntl|fenv|float|inttypes|limits|locale|math|setjmp|signal|"
                    r"stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|"
                    r"time|unistd|sys/[a-z]+)\.h$")
# Made in the build folder from a file of the same folder.
GENERATED = {"parse.h": "frontend", "scan.h": "frontend"}


# Variables of the whole program that there is no way around, and why.
WRITABLE = {
    # LLVM is set up once for the process, and its handler of fatal errors is given no context.
    ("backend", "session.c.o"): ("once", "doing", "subject"),
    # What an internal error leaves behind: it is given no context either.
    ("ir", "diag.c.o"): ("watch",),
}


def sources(root, endings):
    for top in OURS:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(folder, name), root)


def row_of(path):
    for folder in sorted(TABLE, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return folder
    return None


def check_includes(root, _):
    faults = []
    pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
    for path in sources(root, (".c", ".h", ".l", ".y", ".def")):
        folder = row_of(path)
        if folder is None:
            continue
        row = TABLE[folder]
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        for kind, name in pattern.findall(text):
            if kind == '"' and name in GENERATED:
                ok = folder == GENERATED[name]
            elif kind == '"':
                here = os.path.normpath(os.path.join(os.path.dirname(path), name))
                target = here if os.path.exists(os.path.join(root, here)) else name
                ok = any(target.startswith(p) for p in row["project"]) and \
                    not any(target.startswith(p) for p in row.get("never", []))
            else:
                ok = bool(SYSTEM.match(name)) or any(name.startswith(p) for p in row["foreign"])
            if not ok:
                faults.append(f"{path}: {folder} may not include {name}")
    return faults


def check_sizes(root, _):
    faults = []
    for path in sources(root, (".c", ".h", ".l", ".y", ".def", ".py", ".sh")):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            lines = f.read().split("\n")
        if len(lines) - 1 > MAX_LINES:
            faults.append(f"{path}: {len(lines) - 1} lines, more than {MAX_LINES}: one subject to a file")
        for number, line in enumerate(lines, 1):
            if len(line) > 120 and not path.endswith(".def"):
                faults.append(f"{path}:{number}: {len(line)} columns")
    return faults


def section_types(readelf, obj):
    """Names of the sections by number: to tell .data.rel.ro, which is constant, from .data."""
    text = subprocess.run([readelf, "-SW", obj], capture_output=True, text=True, check=True).stdout
    return {m.group(1): m.group(2) for m in re.finditer(r"\[\s*(\d+)\]\s+(\S+)", text)}


def check_state(_, build):
    readelf = shutil.which("readelf")
    if not readelf:
        return None
    faults, seen = [], 0
    for folder, _, names in os.walk(build):
        parts = os.path.relpath(folder, build).split(os.sep)
        if parts[0] not in OURS or parts[0] == "tests" or "CMakeFiles" not in parts:
            continue
        for name in sorted(names):
            # flex and bison keep constant tables without saying const
            if not name.endswith(".o") or name in ("scan.c.o", "parse.c.o"):
                continue
            seen += 1
            obj = os.path.join(folder, name)
            sections = section_types(readelf, obj)
            text = subprocess.run([readelf, "-sW", obj], capture_output=True, text=True, check=True).stdout
            for line in text.splitlines():
                field = line.split()
                if len(field) < 8 or field[3] not in ("OBJECT", "TLS", "COMMON"):
                    continue
                section = "COMMON" if field[6] == "COM" else sections.get(field[6], "")
                writable = section == "COMMON" or re.match(r"\.(data|bss|tdata|tbss)(\.|$)", section)
                # What the sanitizers add is theirs.
                if field[7] in WRITABLE.get((parts[0], name), ()):
                    continue
                if writable and not section.startswith(".data.rel.ro") and \
                        not re.match(r"(__(asan|ubsan|odr|tsan|sancov|gcov|llvm)|\.?L|_*\.?lubsan)", field[7], re.I):
                    faults.append(f"{os.path.relpath(obj, build)}: {field[7]} is a variable of the whole program")
    if not seen:
        faults.append(f"{build}: no object files found")
    return faults


def check_format(root, _):
    tool = shutil.which("clang-format")
    if not tool:
        return None
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {FORMATTER}." not in version:  # others lay out some things differently
        return None
    files = list(sources(root, (".c", ".h")))
    done = subprocess.run([tool, "--dry-run", *files], cwd=root, capture_output=True, text=True, check=False)
    bad = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    return [f"{path}: clang-format would change it (clang-format -i {path})" for path in bad]


CHECKS = {"includes": check_includes, "sizes": check_sizes, "state": check_state, "format": check_format}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    faults = CHECKS[sys.argv[1]](sys.argv[2], sys.argv[3])
    if faults is None:
        print("skipped: the tool for it is not installed, or in another version")
        return SKIPPED
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
