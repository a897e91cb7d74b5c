/* kinds.c: which program of this folder, which model of it, and which sizes are fixed when it is
 * compiled: those that belong to a model (heads, states), not the lengths and batches it is run
 * on. */
#include <string.h>

#include "tests/bench/worker.h"

typedef struct kind_row {
    const char *kind, *file;
    const char *entry, *both; /* `both`: with the case's `bidir` */
    const char *fixed; /* keys of the case, with blanks between, that are -D of the program */
} kind_row;

static const kind_row kinds[] = {
    {"additive", "additive.attn", "run", NULL, "H"},
    {"cosine", "cosine.attn", "run", NULL, "H D tau"},
    {"gauss", "gauss.attn", "run", NULL, "d gamma"},
    {"rnn", "rnn.attn", "run_rnn", "run_birnn", "H"},
    {"gru", "rnn.attn", "run_gru", "run_bigru", "H"},
    {"lstm", "lstm.attn", "run_lstm", "run_bilstm", "H"},
    {"bahdanau", "bahdanau.attn", "run", NULL, "H"},
    {"lstmn", "lstmn.attn", "run", NULL, "H"},
    {"bert", "bert.attn", "run", NULL, "D F"},
};

const struct workload *find_workload(const char *name)
{
    for (size_t i = 0; i < n_workloads; i++) {
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    }
    ice("no program %s in the folder of benchmarks", name);
}

static void define(const bench_case *c, choice *out, const char *key, const char *value)
{
    vec_push(c->a, &out->defines, ((case_key){key, value}));
}

/* Any mixture of what a case can ask for: a program of one line over sdpa.attn. */
static void choose_sdpa(const bench_case *c, choice *out)
{
    arena *a = c->a;
    bool causal = case_number(c, "causal") != 0, alibi = case_number(c, "alibi") != 0;
    long long window = (long long)case_number(c, "window"), H = (long long)case_number(c, "H"),
              G = (long long)case_number(c, "Hkv");
    double cap = case_number(c, "softcap");
    if (G <= 0 || H % G != 0) {
        out->unsupported = "heads that do not fall into groups";
        return;
    }
    const char *mask = causal ? "causal" : "full", *shape = alibi ? "alibi" : "plain";
    if (window)
        mask = arena_printf(a, "%s(W = %lld)", causal ? "sliding" : "recent", window);
    if (cap != 0)
        shape =
            arena_printf(a, "softcap%s(cap = %s)", alibi ? "_alibi" : "", case_text(c, "softcap"));
    const char *text = arena_printf(a,
                                    "import \"sdpa.attn\"\n"
                                    "model bench[B] = attention(shape = %s, allowed = %s)\n",
                                    shape, mask);
    out->file = "bench.attn";
    out->text = text;
    out->size = strlen(text);
    out->entry = "bench";
    define(c, out, "G", case_text(c, "Hkv"));
    define(c, out, "R", arena_printf(a, "%lld", H / G));
    define(c, out, "D", case_text(c, "D"));
}

static void choose_row(const bench_case *c, const kind_row *row, choice *out)
{
    const struct workload *w = find_workload(row->file);
    bool both = case_number(c, "bidir") != 0;
    out->file = w->name;
    out->text = w->text;
    out->size = w->size;
    out->entry = both ? row->both : row->entry;
    out->parts = both ? 2 : 1;
    for (const char *s = row->fixed; *s;) {
        size_t n = strcspn(s, " ");
        const char *key = arena_strndup(c->a, s, n);
        if (*case_text(c, key))
            define(c, out, key, case_text(c, key));
        s += n + (s[n] != '\0');
    }
}

void choose(const bench_case *c, choice *out)
{
    *out = (choice){.parts = 1};
    const char *kind = case_text(c, "kind");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            choose_row(c, &kinds[i], out);
            return;
        }
    }
    if (strcmp(kind, "sdpa") == 0) {
        choose_sdpa(c, out);
    } else if (strcmp(kind, "gemm") == 0) {
        static const kind_row plain = {"gemm", "gemm.attn", "run", NULL, ""},
                              turned = {"gemm", "gemm.attn", "run_t", NULL, ""};
        choose_row(c, case_number(c, "tb") != 0 ? &turned : &plain, out);
    } else {
        out->unsupported = strcmp(kind, "sdpa_train") == 0 ? "gradients" : "a case of this kind";
    }
}
