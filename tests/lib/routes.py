"""The three ways to run a model: `interp` (the reference interpreter), `jit` (attnc run) and `aot`
(attnc build, then golden/aot_host.c loads the object); and, where asked for, `step` and `prefill`
(attnc run --steps, two steps at first; models that are no recurrence are skipped). Needs only
python3's standard library."""
import concurrent.futures
import itertools
import os
import threading

from cases import Failed, command, load

ROUTES = ("interp", "jit", "aot")  # unless told otherwise
OPTIONS = {"interp": ["--interp"], "jit": [], "aot": [], "step": ["--steps"],
           "prefill": ["--steps=2,1"]}
NO_STEPS = "has no steps"  # what attnc says of a model that is no recurrence


class Skipped(Exception):
    """The route does not concern the model."""


def add_options(parser, attnc):
    """What every runner over routes takes; attnc: where the compiler is unless told."""
    parser.add_argument("--routes", default=",".join(ROUTES), 
                        help="which of interp,jit,aot,step,prefill (the first three)")
    parser.add_argument("--attnc", default=attnc, help="the compiler (build/attnc)")
    parser.add_argument("--host", help="aot_host (beside attnc, in tests/golden)")


def check_options(parser, o):
    o.attnc = os.path.abspath(o.attnc)
    o.host = os.path.abspath(o.host or os.path.join(os.path.dirname(o.attnc), "tests", "golden",
                                                    "aot_host"))
    o.routes = o.routes.split(",")
    for route in o.routes:
        if route not in OPTIONS:
            parser.error(f"no route '{route}'; there are {', '.join(OPTIONS)}")
    if not os.access(o.attnc, os.X_OK):
        parser.error(f"no compiler at {o.attnc}: build it first, or give --attnc")
    if "aot" in o.routes and not os.access(o.host, os.X_OK):
        parser.error(f"no aot_host at {o.host}: build the tests first, or give --host or --routes")


class Runner:
    """Runs models; its files are in the folder `scratch`. Threads may share one."""

    def __init__(self, options, scratch):
        self.attnc = options.attnc
        self.host = options.host
        self.scratch = scratch
        self.lock = threading.Lock()
        self.counter = itertools.count()
        self.objects = {}  # (program, entry, defines, more): a future of the path of the .so

    def build(self, program, entry, defines, more=()):
        """Builds an object once; whoever comes second waits for the first."""
        key = (program, entry, defines, more)
        with self.lock:
            future = self.objects.get(key)
            mine = future is None
            if mine:
                future = self.objects[key] = concurrent.futures.Future()
                path = os.path.join(self.scratch, f"model{len(self.objects)}.so")
        if mine:
            try:
                command([self.attnc, "build", program, "--entry", entry,
                         *[w for d in defines for w in ("-D", d)], *more, "-o", path])
                future.set_result(path)
            except Failed as e:
                future.set_exception(e)
        return future.result()

    def run(self, route, program, entry, defines, inputs, weights=None, more=()):
        """The results, name -> Tensor; inputs and weights are files, more is a tuple of further
        options of attnc. Raises Failed or Skipped."""
        out = os.path.join(self.scratch, f"out{next(self.counter)}.safetensors")
        files = ["-i", inputs, *(["-w", weights] if weights else []), "-o", out]
        try:
            if route == "aot":
                command([self.host, self.build(program, entry, defines, more), entry, *files])
            else:
                command([self.attnc, "run", program, "--entry", entry,
                         *[w for d in defines for w in ("-D", d)],
                         *OPTIONS[route], *more, *files])
            return load(out)
        except Failed as e:
            if route in ("step", "prefill") and NO_STEPS in str(e):
                raise Skipped("it is no recurrence") from e
            raise
        finally:
            if os.path.exists(out):
                os.unlink(out)
