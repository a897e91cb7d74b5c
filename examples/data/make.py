#!/usr/bin/env python3
"""Writes the tensors of the README's two runs. Needs only python3's standard library.

Nothing here is trained: every word has a few features set by hand, so that the attention can be
followed with the eyes. The words stand in the files' metadata."""
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def shape_of(x):
    return [len(x)] + shape_of(x[0]) if isinstance(x, list) else []


def flat(x):
    return [v for row in x for v in flat(row)] if isinstance(x, list) else [float(x)]


def write(name, tensors, words=None):
    head = {"__metadata__": {"words": " ".join(words)}} if words else {}
    data = b""
    for key in sorted(tensors):
        values = flat(tensors[key])
        raw = struct.pack(f"<{len(values)}f", *values)
        head[key] = {"dtype": "F32", "shape": shape_of(tensors[key]),
                     "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(HERE, name + ".safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def chase():
    """The sentence of Cheng et al. 2016, figure 1, for rnn_self_attention.attn (model run)."""
    #               carries   a        an      an
    #               meaning   person   action  article
    features = [
        ("The",      (-1.0,   0.0,     0.0,     1.0)),
        ("FBI",      ( 1.0,   1.0,     0.1,     0.0)),
        ("is",       (-1.0,   0.0,     0.3,    -0.5)),
        ("chasing",  ( 1.0,   0.0,     1.0,     0.0)),
        ("a",        (-1.0,   0.0,     0.0,     1.0)),
        ("criminal", ( 1.0,   1.0,     0.4,     0.0)),
        ("on",       (-1.0,   0.0,     0.0,    -1.0)),
        ("the",      (-1.0,   0.0,     0.0,     1.0)),
        ("run",      ( 1.0,   0.3,     1.0,     0.0)),
    ]
    # The state copies the features (twice, so that scores spread) and lets a little of the last
    # context through.
    d = 4
    h = 2 * d
    a = [[1.5 if j == i % d else 0.0 for j in range(d)]
         + [0.2 if j == i else 0.0 for j in range(h)] for i in range(h)]
    words = [w for w, _ in features]
    write("chase", {"x": [[list(f) for _, f in features]]}, words)
    write("chase_weights", {"A": a, "b": [0.0] * h})


def tired():
    """One sentence attends to itself: score_scaled_dot.attn (model run)."""
    # What a word is (key, value) and what it looks for (query), in the features
    # living thing, place, action, state.
    features = [
        ("The",     (0, 0, 0, 0), (1, 0, 0, 0)),
        ("animal",  (3, 0, 0, 0), (1, 0, 2, 1)),
        ("didn't",  (0, 0, 1, 0), (0, 0, 3, 0)),
        ("cross",   (0, 0, 3, 0), (2, 3, 0, 0)),
        ("the",     (0, 0, 0, 0), (0, 1, 0, 0)),
        ("street",  (0, 3, 0, 0), (0, 1, 2, 0)),
        ("because", (0, 0, 0, 1), (0, 0, 1, 2)),
        ("it",      (1, 0, 0, 0), (3, 0, 0, 0)),
        ("was",     (0, 0, 0, 1), (1, 0, 0, 2)),
        ("too",     (0, 0, 0, 1), (0, 0, 0, 3)),
        ("tired",   (0, 0, 0, 3), (3, 0, 0, 0)),
    ]
    is_a = [list(k) for _, k, _ in features]
    wants = [list(q) for _, _, q in features]
    write("tired", {"q": [wants], "k": [is_a], "v_in": [is_a]}, [w for w, _, _ in features])


if __name__ == "__main__":
    chase()
    tired()
