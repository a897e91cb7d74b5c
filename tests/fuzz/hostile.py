#!/usr/bin/env python3
"""hostile.py: programs made to hurt. Each must end within the time and memory given, with success
or with errors (exit 0, 1 or 2), never by a signal or an internal error.

    hostile.py --attnc build/attnc [--seconds 3] [--megabytes 256] [--only NAME] [--write DIR]

With a sanitizer the limits mean nothing: raise them (--seconds 60 --megabytes 4000)."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile


def model(body, args="x: [T]", result="y: [T]", before=""):
    return "%sfn f(%s) -> (%s) {\n%s\n}\nmodel run = f\n" % (before, args, result, body)


def chain(n, order):
    rows = ["  x%d[t] = x%d[t] + x%d[t]" % (k + 1, k, k) for k in range(n)]
    rows.append("  x0[t] = x[t]")
    rows.append("  y[t] = x%d[t]" % n)
    return model("\n".join(rows[::order]))


def call_tree(depth, width):
    out = ["fn f0(x: [T]) -> [T] {\n  return tanh(x)\n}\n"]
    for k in range(depth):
        out.append("fn f%d(x: [T]) -> [T] {\n  return %s\n}\n" % (
            k + 1, " + ".join("f%d(x * %d)" % (k, i + 1) for i in range(width))))
    return "".join(out) + model("  y = f%d(x)" % depth)


CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


# Each gives a text, or (a dict of files, arguments behind the file name).

@case
def parentheses():
    return model("  y[t] = %sx[t]%s" % ("(" * 1000000, ")" * 1000000))


@case
def parentheses_500():
    return model("  y[t] = %sx[t]%s" % ("(" * 500, ")" * 500))


@case
def brackets():
    return model("  y[t] = %sx[t]%s" % ("x[" * 100000, "]" * 100000))


@case
def minus_signs():
    return model("  y[t] = %sx[t]" % ("-" * 200000))


@case
def flat_sum():
    return model("  y[t] = %s" % " + ".join(["x[t]"] * 200000))


@case
def flat_sum_of_numbers():
    return model("  y[t] = x[t] + %s" % " + ".join(["1"] * 200000))


@case
def flat_product():
    return model("  y[t] = %s" % " * ".join(["x[t]"] * 200000))


@case
def flat_and():
    return model("  y[t] = x[t] where %s" % " and ".join(["t < %d" % i for i in range(50000)]))


@case
def nested_sum():
    return model("  y[t] = %sx[t]%s" % ("x[t] + (" * 200000, ")" * 200000))


@case
def powers():
    return model("  y[t] = %s" % " ^ ".join(["x[t]"] * 100000))


@case
def else_chain():
    return model("  y[t] = %s" % " else ".join(["x[t - %d]" % (i + 1) for i in range(3000)]))


@case
def comparison_chain():
    return model("  y[t] = x[t] where %s" % " < ".join(["t"] * 20000))


@case
def nested_where():
    return model("  y[t] = %sx[t]%s" % ("(" * 200, " where t < 3)" * 200))


@case
def nested_sums():
    return model("  y[t] = %sx[t]%s" % ("".join("sum[j%d in T](" % k for k in range(150)),
                                        ")" * 150))


@case
def doubling_40():
    return chain(40, 1)


@case
def doubling_4000():
    return chain(4000, 1)


@case
def doubling_4000_reversed():
    return chain(4000, -1)


@case
def doubling_20000_reversed():
    return chain(20000, -1)


@case
def undeclared_scalars():
    rows = ["  x%d = x%d + 1" % (k + 1, k) for k in range(5000)]
    return model("\n".join(rows[::-1] + ["  x0 = 1", "  y[t] = x[t] + x5000"]))


@case
def recurrence_ring():
    n = 400
    rows = ["  h%d[-1] = 0\n  h%d[t in T] = h%d[t-1] + x[t]" % (k, k, (k + 1) % n)
            for k in range(n)]
    rows += ["  h%d: [T]" % k for k in range(n)]
    return model("\n".join(rows) + "\n  y[t] = h0[t]")


@case
def rank_64():
    axes = ", ".join("A%d" % i for i in range(64))
    ix = ", ".join("i%d" % i for i in range(64))
    return model("  y[%s] = x[%s] + 1" % (ix, ix), "x: [%s]" % axes, "y: [%s]" % axes)


@case
def rank_1000():
    axes = ", ".join("A%d" % i for i in range(1000))
    return model("  y = tanh(x)", "x: [%s]" % axes, "y: [%s]" % axes)


@case
def packed_64():
    axes = ", ".join("A%d" % i for i in range(64))
    return model("  y = x", "x: [(%s)]" % axes, "y: [(%s)]" % axes)


@case
def dim_2_63():
    return model("  y[t in 9223372036854775808] = 1")


@case
def dim_product():
    return ({"p.attn": model("  z[i in A, j in A, k in A, l in A] = 1\n"
                             "  y[t] = x[t] + sum[i, j, k, l](z[i, j, k, l])",
                             before="dim A = 9223372036854775807\n")}, [])


@case
def dim_powers():
    return model("  y[t] = x[t]", "x: [%s]" % " * ".join(["T"] * 500), "y: [T]")


@case
def dim_sum():
    return model("  y[t] = 1", "x: [%s]" % " + ".join("T%d" % i for i in range(3000)),
                 "y: [T0]")


@case
def dim_products_of_sums():
    return model("  y[t] = 1", "x: [%s]" % " * ".join("(A%d + B%d)" % (i, i) for i in range(40)),
                 "y: [A0]")


@case
def many_functions():
    return "".join("fn f%d(x: [T]) -> [T] {\n  return x\n}\n" % i for i in range(5000)) + \
        model("  y = x")


@case
def many_models():
    return model("  y = x") + "".join("model m%d = f\n" % i for i in range(1000))


@case
def many_params():
    return model("\n".join("  param p%d: [T]" % i for i in range(3000)) + "\n  y[t] = x[t] + " +
                 " + ".join("p%d[t]" % i for i in range(3000)))


@case
def many_parts():
    return model("\n".join("  part p%d = g from \"p%d_{}\"" % (i, i) for i in range(1000)) +
                 "\n  y = x" + "".join(" + p%d(x)" % i for i in range(1000)),
                 before="fn g(x: [T]) -> [T] {\n  param w: [T]\n  return w * x\n}\n")


@case
def many_equations():
    return model("\n".join("  a%d[t] = x[t] + %d" % (i, i) for i in range(20000)) +
                 "\n  y[t] = a7[t]")


@case
def join_10000():
    return model("  y = [%s]" % "; ".join(["x"] * 10000), result="y: [10000 * T]")


@case
def split_10000():
    return model("  [%s] = x\n  y = a0" % "; ".join("a%d" % i for i in range(10000)),
                 "x: [10000 * T]")


@case
def joined_type():
    return model("  y[t] = 1", "x: [(%s)]" % "; ".join("A%d" % i for i in range(5000)), "y: [T]")


@case
def call_tree_40():
    return call_tree(40, 2)


@case
def call_tree_12_wide():
    return call_tree(12, 8)


@case
def call_chain_190():
    return call_tree(190, 1)


@case
def call_chain_5000():
    return call_tree(5000, 1)


@case
def one_equation_many_calls():
    return model("  y = %s" % " + ".join("g(x * %d)" % i for i in range(2000)),
                 before="fn g(x: [T]) -> [T] {\n  z = x + 1\n  return z\n}\n")


@case
def function_arguments():
    return ("fn a(x: [T], g: fn = b) -> [T] {\n  return g(x)\n}\n"
            "fn b(x: [T], g: fn = a) -> [T] {\n  return g(x)\n}\n" + model("  y = a(x)"))


@case
def tuples():
    n = 3000
    return model("  %s = (%s)\n  y = a0" % (", ".join("a%d" % i for i in range(n)),
                                            ", ".join(["x"] * n)))


@case
def long_name():
    name = "n" * 1000000
    return model("  %s[t] = x[t]\n  y[t] = %s[t]" % (name, name))


@case
def long_misspelt_names():
    return model("\n".join("  a%d[t] = %s%d" % (i, "b" * 2000, i) for i in range(300)))


@case
def thousands_of_errors():
    return model("\n".join("  a%d[t] = undefined%d[t] + " % (i, i) for i in range(20000)))


@case
def thousands_of_unknown_names():
    return model("\n".join("  a%d[t] = undefined%d[t]" % (i, i) for i in range(5000)))


@case
def long_number():
    return model("  y[t] = x[t] + %s" % ("9" * 1000000))


@case
def long_line_error():
    return model("  y[t] = x[t] + %s oops" % " " * 1000000)


@case
def part_array_1e9():
    return ({"p.attn": model(
        "  part p[l in L] = g from \"p{l}_{}\"\n  h: [L + 1, T]\n  h[0] = x\n"
        "  h[l+1] = p[l](h[l])\n  y = h[L]",
        before="fn g(x: [T]) -> [T] {\n  param w: [T]\n  return w * x\n}\n")},
            ["-D", "L=1000000000"])


@case
def family_1e9():
    return ({"p.attn": model("  param w[l in L]: [T] from \"w{l}\"\n  y[t] = sum[l](w[l, t])")},
            ["-D", "L=1000000000"])


@case
def input_family_1e9():
    return ({"p.attn": model("  y[t] = sum[l](x[l, t])", "x[l in L]: [T] from \"x{l}\"")},
            ["-D", "L=1000000000"])


@case
def result_family_1e9():
    return ({"p.attn": model("  y[l, t] = x[t]", result="y[l in L]: [T] from \"y{l}\"")},
            ["-D", "L=1000000000"])


@case
def family_2_62():
    return ({"p.attn": model("  param w[l in L, m in L]: [T] from \"w{l}_{m}\"\n"
                             "  y[t] = sum[l, m](w[l, m, t])")}, ["-D", "L=4611686018427387904"])


@case
def negative_define():
    return ({"p.attn": model("  y[t] = x[t]")}, ["-D", "T=-5"])


@case
def strange_defines():
    more = []
    for d in ("T=", "=3", "T", "T=9223372036854775808", "T=1e400", "T=nan", "x=1", "f=2", "T=0x10",
              "T=3", "T=4"):
        more += ["-D", d]
    return ({"p.attn": model("  y[t] = x[t]")}, more)


@case
def ten_thousand_defines():
    return ({"p.attn": model("  y[t] = x[t]")}, [w for i in range(10000)
                                                 for w in ("-D", "d%d=1" % i)])


@case
def import_cycle():
    return ({"p.attn": "import \"q.attn\"\n" + model("  y = x"),
             "q.attn": "import \"p.attn\"\nimport \"q.attn\"\n"}, [])


@case
def import_chain():
    files = {"q%d.attn" % i: "import \"q%d.attn\"\n" % (i + 1) for i in range(3000)}
    files["q3000.attn"] = "fn g(x: [T]) -> [T] {\n  return x\n}\n"
    files["p.attn"] = "import \"q0.attn\"\n" + model("  y = g(x)")
    return files, []


@case
def import_itself_often():
    return ({"p.attn": "import \"p.attn\"\n" * 20000 + model("  y = x")}, [])


@case
def import_folder():
    return ({"p.attn": "import \".\"\nimport \"/dev/zero\"\nimport \"\"\n" + model("  y = x")}, [])


@case
def constants():
    return "".join("const c%d = c%d + 1\n" % (i + 1, i) for i in range(5000)) + \
        "const c0 = 1\n" + model("  y[t] = x[t] + c5000")


@case
def constant_cycle():
    return "const a = b\nconst b = a\ndim A = B\ndim B = A\n" + model("  y[t] = x[t] + a + A")


@case
def alternating_dims():
    n = 300
    return model("  y[t] = 1\n" + "\n".join(
        "  z%d[i in A%d] = a%d[i] + b%d[i]" % (i, i, i, i) for i in range(n)),
        ", ".join("a%d: [A%d], b%d: [A%d]" % (i, i, i, i + 1) for i in range(n)), "y: [A0]")


@case
def tiles():
    n = 300
    return model("\n".join("  y[%sa] = x[a]" % ("%d * A + " % i) for i in range(n)),
                 "x: [A]", "y: [%d * A]" % n)


@case
def constant_tiles():
    n = 1000
    return model("\n".join("  y[%d] = x[%d]" % (i, i) for i in range(n)), "x: [%d]" % n,
                 "y: [%d]" % n)


@case
def boundaries():
    return model("  h: [T]\n" + "\n".join("  h[-%d] = %d" % (i, i) for i in range(1, 400)) +
                 "\n  h[t] = h[t-399] + x[t]\n  y[t] = h[t]")


@case
def nothing():
    return ""


@case
def bytes_of_all_kinds():
    return "".join(chr(i) for i in range(1, 256)) * 4


def limits(seconds):
    def f():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) * 4 + 1, int(seconds) * 4 + 2))
    return f


def run(command, seconds, megabytes, name):
    """None, or what went wrong; with the time and memory taken."""
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         preexec_fn=limits(seconds))
    err = p.stderr.read()
    p.stderr.close()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    cpu, mb = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    text = err.decode(errors="replace")
    wrong = None
    if p.returncode < 0:
        wrong = "signal %d" % -p.returncode
    elif p.returncode > 2:
        wrong = "exit %d" % p.returncode
    elif cpu > seconds:
        wrong = "too slow"
    elif mb > megabytes:
        wrong = "too much memory"
    elif len(err) > 4000000:
        wrong = "%d bytes of messages" % len(err)
    return wrong, p.returncode, cpu, mb, text


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--attnc", default=os.environ.get("ATTNC"))
    a.add_argument("--seconds", type=float, default=3.0)
    a.add_argument("--megabytes", type=float, default=256)
    a.add_argument("--only", action="append")
    a.add_argument("--write", help="keep the programs in this folder")
    a.add_argument("-v", action="store_true")
    args = a.parse_args()
    if os.environ.get("ATTNC_SANITIZE"):
        args.seconds, args.megabytes = args.seconds * 60, args.megabytes * 16
    bad = 0
    for name, make in CASES.items():
        if args.only and name not in args.only:
            continue
        made = make()
        files, more = made if isinstance(made, tuple) else ({"p.attn": made}, [])
        with tempfile.TemporaryDirectory() as folder:
            folder = args.write + "/" + name if args.write else folder
            os.makedirs(folder, exist_ok=True)
            for f, text in files.items():
                with open(folder + "/" + f, "w") as out:
                    out.write(text)
            for command in (["check"], ["dump", "--stage", "kernel"]):
                wrong, code, cpu, mb, text = run(
                    [args.attnc] + command + [folder + "/p.attn"] + more, args.seconds,
                    args.megabytes, name)
                bad += wrong is not None
                if wrong or args.v:
                    print("%-28s %-6s %-16s exit %d  %5.2f s  %4.0f MB  %s" % (
                        name, command[0], wrong or "ok", code, cpu, mb,
                        text.split("error: ")[-1].splitlines()[0][:60] if text else ""),
                        flush=True)
    print("%d hostile programs, %d runs failed" % (len(CASES), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
