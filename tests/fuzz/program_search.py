"""program_search.py: the command line that the random program generators share: seeds, jobs, and the summary."""
import argparse
import concurrent.futures


def search(one, text_of, skipped, reduce_tries):
    """one(seed, args) -> (seed, kind, why, text): kind None where all agrees, "skip" where there is nothing to
    compare, else what differs; text_of(seed) is the program, or None; `skipped` says what a skip means."""
    a = argparse.ArgumentParser()
    a.add_argument("--attnc", required=True)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--count", type=int, default=100)
    a.add_argument("--reduce", type=int, default=reduce_tries, help="tries for making a failure small")
    a.add_argument("--keep", help="folder for failing programs and their data")
    a.add_argument("--print", action="store_true", help="only print the programs")
    a.add_argument("-j", type=int, default=1)
    args = a.parse_args()
    seeds = range(args.seed, args.seed + args.count)
    if args.print:
        for s in seeds:
            print(text_of(s) or "# seed %d: nothing" % s)
        return 0
    kinds = {}
    with concurrent.futures.ProcessPoolExecutor(args.j) as pool:
        for job in concurrent.futures.as_completed([pool.submit(one, s, args) for s in seeds]):
            seed, kind, why, text = job.result()
            kinds[kind] = kinds.get(kind, 0) + 1
            if kind and kind != "skip":
                print("== seed %d: %s\n%s\n%s" % (seed, kind, why, text), flush=True)
    bad = sum(n for k, n in kinds.items() if k and k != "skip")
    print("%d programs from seed %d: %d agree, %d %s, %d fail" % (
        args.count, args.seed, kinds.get(None, 0), kinds.get("skip", 0), skipped, bad))
    for k, n in sorted(kinds.items(), key=lambda x: -x[1]):
        if k and k != "skip":
            print("  %5d  %s" % (n, k))
    return 1 if bad else 0
