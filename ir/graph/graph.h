/* graph.h: the graph IR: SSA values over tensors whose axes are named by index.
 *
 * A value is a pure function of its free indices: `%e : f32<i:T, j:S>` has one element for every i
 * < T and j < S. Elementwise ops align by index; a transpose or a broadcast does not exist. Using a
 * tensor at other index values is one op, read: `read %x[t - 1, e]`. Values are hash-consed: equal
 * terms are one value. ir/IR.md is the reference of the text form. */
#ifndef ATTNC_IR_GRAPH_GRAPH_H
#define ATTNC_IR_GRAPH_GRAPH_H

#include "ir/base/diag.h"
#include "ir/graph/dim.h"
#include "ir/graph/op.h"

typedef enum dtype { DT_NONE, DT_F32, DT_F64, DT_I64, DT_BOOL } dtype; /* of values */
extern const char *const dtype_text[];

/* Of memory: what inputs, params and results are stored as. X(id, text, bytes, value type). */
#define STORE_TYPES(X)                                                                             \
    X(F32, "f32", 4, DT_F32)                                                                       \
    X(F64, "f64", 8, DT_F64)                                                                       \
    X(F16, "f16", 2, DT_F32)                                                                       \
    X(BF16, "bf16", 2, DT_F32)                                                                     \
    X(I64, "i64", 8, DT_I64)                                                                       \
    X(I32, "i32", 4, DT_I64)                                                                       \
    X(U8, "u8", 1, DT_I64)                                                                         \
    X(BOOL, "bool", 1, DT_BOOL)
typedef enum store_type {
#define X(id, text, bytes, value) ST_##id,
    STORE_TYPES(X)
#undef X
        ST_COUNT
} store_type;
typedef struct store_info {
    const char *text;
    int bytes;
    dtype value; /* f16, bf16, f32, f64 are read as the graph's real */
} store_info;
extern const store_info store_table[ST_COUNT];

/* A named index: ranges over 0 .. extent-1. Unique by name in its graph. */
typedef struct ix {
    uint32_t id;
    const char *name;
    const dim *extent;
} ix;

typedef struct value value;
struct value {
    uint32_t id; /* creation order: operands have smaller ids */
    op_id op;
    dtype dt;
    span at;          /* the source it came from */
    const char *hint; /* a name for printing, or NULL; not part of its identity */

    uint32_t n_ix; /* free indices, in order: positions for OP_read */
    const ix *const *ix;
    uint32_t n_args;
    value *const *args;
    value
        *where; /* bool, NULL: everywhere. read, reduce, contract, normalisers, online, trapping */

    /* Attributes, by op. bound: the indices of reduce, contract, normalisers and online; of a join
     * the joined index, then one per part; of a history its row index; of append and scan the step
     * index. */
    uint32_t n_bound;
    const ix *const *bound;
    int kind;           /* reduce: reduce_kind; scan: 0 forward, 1 backward; result: which history;
                           history: slot; input, param: store_type; online: online_kind; part:
                           which stream, or PART_* */
    uint32_t scan;      /* history, scan: the number that ties them */
    const char *name;   /* input, param: as the user knows it ("enc_W_ih") */
    const char *source; /* param: name in the checkpoint, with {l} for family indices */
    uint32_t n_family;  /* input, param: that many first axes are separate tensors ({l}) */
    bool optional;      /* input: may be NULL; read only under `given` */
    int64_t i;          /* const: int or bool */
    double f;           /* const: real */
    const dim *dim;     /* dim */
};

typedef struct graph_result {
    const char *name;
    value *v;
    uint32_t n_axes; /* the order of its axes in memory: a permutation of v's free indices plus
                        indices v does not depend on (stored repeatedly) */
    const ix *const *axes;
    store_type store;
    uint32_t n_family;
    const char *source; /* families: the pattern; else NULL */
} graph_result;

/* What the entry checks before anything else. */
typedef struct graph_check {
    const dim *a, *b;
    bool le; /* a <= b, else a == b */
    const char *text;
    span at;
} graph_check;

typedef struct graph {
    arena *a;
    strtab *names;
    dims *dims;
    const char *name;          /* entry name */
    dtype real;                /* DT_F32 or DT_F64 */
    bool recurrence;           /* causal along its step axis */
    const ix *step;            /* step graph: the index of its one scan; NULL: an ordinary graph */
    struct graph *step_graph;  /* a recurrence's: the same, to be fed step by step; NULL: none */
    const char *why_no_steps;  /* ... and why */
    VEC(const char *) symbols; /* the entry's dims in order of first appearance */
    VEC(value *) values;       /* all ever made, by id */
    VEC(value *) inputs;       /* in the order of the C structs */
    VEC(value *) params;
    VEC(graph_result) results;
    VEC(graph_check) checks;
    VEC(const ix *) ixs;
    uint32_t n_scans;
    struct cons *cons; /* hash table */
} graph;

/* A module is what one file compiles to: its entries. */
typedef struct module {
    arena *a;
    strtab *names;
    VEC(graph *) graphs;
} module;

module *module_new(arena *a, strtab *names);
graph *graph_new(module *m, const char *name, dtype real);

/* The index of that name; made if new. NULL where the name exists with another extent. */
const ix *graph_ix(graph *g, const char *name, const dim *extent);
const ix *graph_find_ix(const graph *g, const char *name);

/* Values. Each constructor computes the type, asserts its operands fit (ice otherwise; graph_verify
 * checks text) and returns the existing value where an equal one exists. No rewriting happens here.
 */
value *graph_real(graph *g, double f);
value *graph_int(graph *g, int64_t i);
value *graph_bool(graph *g, bool b);
value *graph_dim(graph *g, const dim *d);
value *graph_index(graph *g, const ix *i);
value *graph_input(graph *g, const char *name, store_type st, const ix *const *axes, uint32_t n,
                   bool optional, uint32_t n_family, const char *source);
value *graph_param(graph *g, const char *name, store_type st, const ix *const *axes, uint32_t n,
                   uint32_t n_family, const char *source);
value *graph_given(graph *g, value *input);
value *graph_elem(graph *g, op_id op, value *const *args, value *where);
value *graph_read(graph *g, value *x, value *const *index, value *where); /* one per x->ix */
value *graph_join(graph *g, const ix *joined, value *const *parts, const ix *const *part_ix,
                  uint32_t n);
value *graph_reduce(graph *g, reduce_kind k, value *x, const ix *const *over, uint32_t n,
                    value *where);
value *graph_contract(graph *g, value *a, value *b, const ix *const *over, uint32_t n,
                      value *where);
value *graph_norm(graph *g, op_id op, value *x, const ix *const *over, uint32_t n, value *where);
value *graph_online(graph *g, online_kind k, value *score, value *const *streams,
                    uint32_t n_streams, const ix *const *over, uint32_t n, value *where);
value *graph_part(graph *g, value *online, int which); /* a stream's number, or PART_* */
uint32_t graph_new_scan(graph *g);
value *graph_history(graph *g, uint32_t scan, int slot, const char *name, dtype dt,
                     const ix *const *axes, uint32_t n, const ix *row);
value *graph_append(graph *g, value *history, value *row, const ix *step);
value *graph_scan(graph *g, uint32_t scan, const ix *step, bool backward, value *const *appended,
                  uint32_t n);
value *graph_result_of(graph *g, value *scan, int slot);

typedef VEC(value *) value_list;

/* Whether v depends on a history of the scan with that number (that is: lies in its region). `memo`
 * is an array of g->values.n bytes, zeroed by the caller and kept while the graph does not grow. */
bool graph_in_region(const graph *g, const value *v, uint32_t scan, unsigned char *memo);
bool value_has_ix(const value *v, const ix *i);
/* The same for all values of a live list at once, by id: 0 for a value outside all regions, else 1
 * + the number of the innermost scan in whose region it lies. A scan lies in the regions around it.
 * In a step graph, what uses an input with steps lies in the region of its scan as well. */
uint32_t *graph_homes(const graph *g, arena *scratch, const value_list *live);

/* Step graphs (IR.md): all that changes from step to step lies in the region of one scan. */
const value *graph_step_scan(const graph *g, const value_list *live); /* NULL: there is none */
/* By value id: of an input the axis that has one row for each step: the one that is read at the
 * step itself, or in an input nobody reads the first as long as there are steps; else -1. */
int *graph_step_axes(const graph *g, arena *a, const value_list *live);

/* What an output of a step graph is at the step at hand. */
typedef struct step_output {
    const value *v;        /* the row of a history, or what no step changes */
    const ix *const *axes; /* of v, one for each axis of the output */
    int step_axis;         /* of the output: one row a step; -1: it holds its last row only */
} step_output;
/* False where the output is not of one of the forms that IR.md allows. */
bool graph_step_output(const graph *g, arena *a, const value_list *live, const graph_result *r,
                       step_output *out);

/* Rebuilds what is reachable from the results with `f` applied bottom up: f gets each value with
 * its operands already rewritten and returns it or another. Results are replaced. Used by passes.
 */
typedef value *graph_rewrite_fn(void *ctx, graph *g, value *v);
void graph_rewrite(graph *g, graph_rewrite_fn *f, void *ctx);
/* The same value over other operands (same op and attributes), one for each of v's in order. Where
 * an operand must have an index that the new one has lost (a read's base, a normaliser's operand),
 * it is widened to `select 0 <= i, x, x`; where a read's base has its indices in another order, so
 * are the index values. */
value *graph_with_args(graph *g, const value *v, value *const *args, value *where);

/* Name and place for a value that stands for another, where it has none of its own. */
void graph_inherit(value *v, const value *from);

/* What the results reach, in id order: graph_live fills `out`. Inputs and params that nobody reads
 * are not among it, though they stay in the interface. */
void graph_live(const graph *g, arena *scratch, value_list *out);

/* Text (IR.md). graph_print prints what the results reach; graph_parse_module reads any number of
 * graphs, reporting to ds (NULL on error). graph_verify checks every rule of IR.md: false and one
 * diagnostic per fault; `where` names the stage ("after simplify"). */
void graph_print(const graph *g, strbuf *out);
void module_print(const module *m, strbuf *out);
module *module_parse(arena *a, strtab *names, diags *ds, uint32_t file);
bool graph_verify(const graph *g, diags *ds, const char *where);
void graph_print_dot(const graph *g, strbuf *out);

#endif
