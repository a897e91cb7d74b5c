/* sema.h: the checker's own structures: functions become instances, equations become tensors, and
 * every expression becomes a graph value.
 *
 * The work goes in four steps, one group of files each:
 *
 *   1. module.c, instance.c   declarations, imports; a call makes an instance: a function with its
 * dims, arguments, params and parts bound
 *   2. dims.c, fixed.c, ranges.c   sizes: unification of axes, fixed ones, ranges of indices
 *   3. expr.c, call.c, read.c, tensor.c   expressions to graph values. A tensor defined by
 * equations is read through a placeholder (an OP_history of a number of its own), so order does not
 * matter
 *   4. order.c, to_ir.c       which tensors depend on which: cycles become scans; the final graph
 * is built anew, and causal.c proves of a recurrence that it is one
 *
 * An expression's value is a `tv`: a graph value, the axes it still has, and its support (where it
 * is present). */
#ifndef ATTNC_FRONTEND_SEMA_H
#define ATTNC_FRONTEND_SEMA_H

#include "frontend/ast.h"
#include "frontend/frontend.h"

typedef struct sema sema;
typedef struct inst inst;
typedef struct tensor tensor;
typedef struct funcref funcref;

/* --- axes --- */

/* An axis as memory has it. A plain axis has one part; a packed one, (N, K), has several, first
 * outermost; a joined one, (A; B), has one part and remembers what it is made of. */
typedef struct axis axis;
struct axis {
    span at;
    uint32_t n;
    const struct ix **ix; /* one per part; in a type without values: NULL */
    const dim **d;        /* sizes, as far as known when made: compare with dims_same */
    const dim **lo;       /* first value of each part, NULL: 0; NULL: all 0 */
    uint32_t n_join;      /* joined: the pieces in order, each an axis without indices */
    axis *join;
};

/* --- values --- */

typedef enum tv_kind {
    TV_POISON,  /* an error was reported */
    TV_UNKNOWN, /* trial elaboration met a tensor whose shape is being inferred */
    TV_VALUE,
    TV_FUNC, /* a function used as an argument */
} tv_kind;

typedef struct tv {
    tv_kind kind;
    value *v;
    value *support; /* bool; NULL: everywhere */
    bool weight;    /* a product with a normaliser's weight */
    bool literal;   /* a number without type of its own: 2 meets a real as a real */
    uint32_t n_axes;
    axis *axes; /* what is left of its tensor's axes; every part has an index */
    span at;
    funcref *f;
} tv;

/* --- tensors: everything that can be read by name --- */

typedef enum progress { P_NEW, P_BUSY, P_DONE, P_BAD } progress;

/* One equation (or one target of it) that defines a tensor or a piece of it. */
typedef struct equation {
    inst *in;
    const ast_stmt *stmt;
    const ast_target *target; /* the name, with its index */
    uint32_t component;       /* which of several results */
    uint32_t n_path;          /* targets inside joins: [part, of] pairs, outermost first */
    struct join_step {
        uint32_t part, of;
    } * path;
    const ast_expr *ret; /* `return e`: no target */
} equation;

/* A read of one tensor inside another's definition, for the order of evaluation and causality. */
typedef struct access {
    tensor *of;
    uint32_t n;
    value **index; /* one i64 value for each of of->ix (context indices first) */
    value *demand; /* the predicate under which it counts; NULL: always */
    span at;
} access;

/* What absence.c knows of a tensor that is defined by equations. */
typedef struct absence {
    tensor *up;     /* whose definition led here */
    uint32_t place; /* among the tensors that were begun, while `open` */
    uint32_t low;   /* the first of those that it needs and that needs it */
    bool open;      /* what it needs is not settled yet */
    bool asked;     /* read before it was defined */
    bool early;     /* ... before it was begun */
    bool moved;     /* its support is read at other indices while it is open */
    enum { PHASE_PRESENT, PHASE_COMPANIONS, PHASE_SOLVED } phase; /* of the first of a component */
    value *assumed;      /* what such reads take for its support; NULL: everywhere */
    bool with_companion; /* ... or its companion */
    tensor *companion;
    value *came;                                           /* the support that came out */
    enum { WEIGHT_PERHAPS, WEIGHT_YES, WEIGHT_NO } weight; /* assumed; perhaps: no */
    size_t n_checks, n_insts, n_calls;                     /* of the sema when it was begun */
} absence;

struct tensor {
    uint32_t id;
    const char *name;
    span at;
    inst *in;

    /* Given: a value from outside (input, param, argument). */
    bool given;
    tv val; /* its axes are the tensor's */

    /* Defined by equations. A tensor with several pieces is a `whole`: it has no placeholder and is
     * read through its pieces, which are tensors themselves. */
    VEC(equation) eqs;
    bool pieces_done;
    VEC(tensor *) tiles; /* in order along tile_axis (a part number over all axes) */
    uint32_t tile_axis;
    VEC(struct boundary {
        uint32_t part;
        const dim *at;
        tensor *t;
        span where;
    })
    boundaries;
    tensor *parent; /* of a boundary: whose, along which part */
    uint32_t parent_part;
    const dim *parent_at;
    const ast_type *declared;
    span declared_at;
    const ast_formal *result_formal; /* a named result: store type, family */

    progress sig;        /* axes and dt */
    bool declared_known; /* busy with its pieces, but its shape is declared: good enough for a trial
                          */
    dtype dt;
    uint32_t n_axes;
    axis *axes;

    progress def;
    value *ph; /* placeholder: the context's indices, then the axes' */
    uint32_t n_ctx;
    uint32_t n_ix;
    const struct ix **ix; /* the body's; all of ph's unless its step was renamed */
    value *body;          /* the definition over ph->ix; stored as 0 where absent */
    value *support;       /* over the same indices; NULL: everywhere */
    bool weight;
    bool is_root;      /* stored as a result */
    bool is_input;     /* step.c: an input with steps, as a tensor */
    VEC(access) reads; /* made while the body was elaborated */
    absence absent;
};

/* --- functions, parts, instances --- */

typedef struct arg_binding {
    const char *name;
    const ast_expr *e;
    inst *env; /* where e's names are looked up */
    tv val;    /* or an evaluated one (kind TV_VALUE or TV_FUNC) */
} arg_binding;

/* A function ready to be called: which, with what bound beforehand, and where its params are found.
 */
struct funcref {
    const ast_decl *decl; /* NULL: a built-in of that name */
    const char *builtin;
    inst *scope; /* instance whose file and names see it; for bound arguments */
    uint32_t n_bound;
    arg_binding *bound;
    const char *pattern; /* where params are found: "enc.{}"; "{}" for a direct call */
    const char *path;    /* for C names: "enc_"; "" for a direct call */
    uint32_t n_family;   /* indices of enclosing part arrays, in order: their values now */
    tv *family;
    const dim **extents;
    span at;
    bool by_argument; /* called through a formal */
    bool is_part;     /* a copy with params of its own */
};

typedef enum name_kind { N_NONE, N_TENSOR, N_DIM, N_CONST, N_FUNC, N_PART } name_kind;

typedef struct part {
    const char *name;
    const ast_stmt *stmt;
    inst *in;
    const char *index; /* part arrays: the index name and its range */
    const dim *extent;
    const dim *lo; /* of `l in a..b`; NULL: 0 */
    progress state;
    funcref *f; /* without family values of its own index */
} part;

typedef struct entity {
    name_kind kind;
    const char *name;
    span at;
    tensor *t;
    const dim *d;
    tv val;
    funcref *f;
    part *p;
} entity;

struct inst {
    sema *s;
    const ast_decl *decl;
    inst *parent;     /* the caller, NULL for an entry */
    span call;        /* where it is called */
    const void *site; /* the call's syntax */
    funcref *f;
    uint32_t depth;
    uint32_t n_ctx; /* indices in scope at the call */
    const ix **ctx;
    value *demand;         /* the predicate under which the call counts */
    struct dimscope *dims; /* names to symbols; shared by all instances of one call site */
    VEC(entity) names;
    uint32_t *name_slots; /* where there are many: hash of a name -> its place + 1 */
    uint32_t n_slots;
    size_t n_hashed;
    uint32_t n_results;
    tensor **results;
    VEC(tensor *) locals;
    bool ready;      /* names are declared */
    bool meeting;    /* arguments are being met: their sizes come from the caller, not from -D */
    bool checked;    /* every equation was elaborated for its messages */
    bool listed;     /* among the sema's */
    bool dropped;    /* ... and taken off by absence.c: others were made in its place */
    tensor *alive;   /* `until`: whether step t still counts; NULL: none */
    uint32_t n_args; /* the evaluated arguments, to find an equal call */
    tv *args;
    inst *next; /* of one site */
};

/* Where an expression is elaborated. */
typedef struct scope {
    struct scope *up;
    const char *name; /* the index bound here */
    const struct ix *ix;
    const dim *lo; /* its first value, NULL: 0 */
    span at;
} scope;

typedef struct env {
    inst *in;
    const scope *indices;   /* innermost first; ends at the instance's context */
    value *demand;          /* NULL: always */
    bool else_at_hand;      /* a read outside its tensor is absent, not an error */
    tensor *reader;         /* whose reads are recorded; NULL in trials */
    uint32_t n_targets;     /* of the equation, where it has several */
    const tensor *defining; /* its own axes say nothing about the ranges of its equation */
} env;

/* Two sizes that must agree but have too many unknowns yet. */
struct pending {
    const dim *a, *b;
    span a_at, b_at;
};

struct sema {
    arena *a;
    strtab *names;
    source_set *sources;
    diags *ds;
    const frontend_options *o;
    VEC(ast_file *) files;
    VEC(const ast_decl *) decls; /* all functions and constants of all files, by first come */
    uint32_t *decl_slots;        /* hash of a name -> its place in decls + 1 */
    uint32_t n_decl_slots;
    size_t n_hashed;
    VEC(struct global {
        progress state;
        struct entity *known;
    })
    globals;                 /* by place in decls: constants evaluated for the entry */
    graph *g;                /* of the entry being elaborated: scratch */
    unsigned merge;          /* > 0: sizes of the entry may be made one */
    unsigned trial;          /* > 0: shapes are being inferred, messages are muted */
    const tensor *inferring; /* whose shape is being inferred, innermost */
    unsigned unknown_others; /* counts unknown reads of other tensors than that one */
    unsigned met_unknown;    /* counts TV_UNKNOWN reads */
    unsigned loose_reads;    /* counts reads whose range was not proved; see expr_product */
    VEC(tensor *) tensors;
    tensor *defining;         /* whose equations are being elaborated, innermost; not in trials */
    VEC(tensor *) begun;      /* definitions since the outermost one; see absence.c */
    VEC(tensor *) companions; /* supports that are tensors */
    VEC(inst *) insts;
    VEC(struct site {
        const void *node;
        inst *parent;
        struct dimscope *dims;
        inst *first;
    })
    sites;
    VEC(struct bind {
        const char *sym;
        const dim *d;
        span at;
    })
    binds; /* dims solved so far */
    VEC(struct fixed {
        const char *sym;
        const char *name; /* of the top level, for all functions; NULL: of one instance */
        const dim *value; /* a constant */
    })
    fixed; /* dims known when compiling; see fixed.c */
    VEC(struct pending) pending;
    VEC(const char *) rigid; /* symbols the entry's own inputs and params carry */
    VEC(struct poolix {
        const dim *extent;
        const struct ix *ix;
    })
    pool;
    VEC(value *) params; /* in order of first use; names unique */
    VEC(struct param_owner {
        value *v;
        const ast_decl *decl;
        tensor *t;
    })
    owners;
    span here;         /* the expression being elaborated, for sizes that are settled later */
    unsigned depth;    /* sema_enter */
    size_t n_calls;    /* instances made for the entry */
    bool exhausted;    /* a limit was met and reported: no more work */
    bool *used_define; /* one per -D */
    VEC(const ast_decl *) reached; /* functions some entry calls */
};

/* --- build.c: graph values with the obvious folded --- */
value *b_elem1(sema *s, op_id op, value *a, value *where);
value *b_elem(sema *s, op_id op, value *a, value *b, value *where);
value *b_select(sema *s, value *c, value *a, value *b);
value *b_and(sema *s, value *a, value *b); /* NULL stands for true */
value *b_or(sema *s, value *a, value *b);  /* NULL stands for true */
value *b_not(sema *s, value *a);
value *b_int(sema *s, int64_t i);
value *b_dim(sema *s, const dim *d);
value *b_zero(sema *s, dtype dt);
value *b_real(sema *s, value *v);                    /* an int as a real; a real unchanged */
value *b_cmp(sema *s, op_id op, value *a, value *b); /* eq ne lt le, int constants moved aside */
value *b_read(sema *s, value *x, const ix *const *from, value *const *to, uint32_t n, value *where);
bool value_is_data(const value *v); /* depends on more than indices, dims and constants */
bool value_int_bounds(sema *s, const value *v, const dim **lo,
                      const dim **hi); /* inclusive, symbolic */
bool value_as_dim(sema *s, const value *v,
                  const dim **d); /* an int that is an expression of dims */
bool proved_le(sema *s, value *a, value *b, int64_t slack); /* for all indices and sizes */
value *pred_prover(sema *s, value *pred, value *a, value *b,
                   int64_t slack); /* the conjunct that says so */
bool pred_implies_le(sema *s, value *pred, value *a, value *b, int64_t slack); /* a <= b - slack */

/* --- dims.c --- */
const dim *dims_resolve(sema *s, const dim *d);
bool dims_is_unknown(const sema *s, const char *sym);     /* may still be bound */
bool dims_choosable(sema *s, const dim *a, const dim *b); /* one number, may be made one name */
bool dims_unify(sema *s, const dim *a,
                const dim *b); /* makes them equal if it can; false: contradiction */
void dims_defer(sema *s, const dim *a, const dim *b, span a_at, span b_at);
void dims_settle(sema *s, bool last); /* retries what was deferred; last: equal parts */
const char *dims_show(sema *s, const dim *d);
const dim *dims_of_name(inst *in, const char *name, span at); /* makes a symbol where new */
const dim *dims_find(inst *in, const char *name);             /* NULL: none of that name yet */
const dim *dims_new_symbol(inst *in, const char *name, const char **sym);
void dims_bind(inst *in, const char *name, const dim *d);
const dim *dims_eval(inst *in, const ast_expr *e); /* NULL after a message */
bool axes_of_type(inst *in, const ast_type *t, uint32_t *n, axis **axes);
const dim *axis_size(sema *s, const axis *a);
const dim *axis_lo(const axis *a, uint32_t part); /* NULL: 0 */
void axis_set_lo(sema *s, axis *a, uint32_t part, const dim *lo);
dtype dtype_of(sema *s, ast_scalar sc);
store_type store_of(sema *s, ast_scalar sc);
const char *axes_show(sema *s, const axis *axes, uint32_t n);
const frontend_define *find_define(sema *s, const char *name);

/* --- fixed.c: d without fixed names: for proofs, numbers and the final graph, never for the
 * meeting of axes --- */
const dim *dims_value(sema *s, const dim *d);          /* NULL: no size, such as 7/2 */
const dim *dims_final(sema *s, const dim *d, span at); /* never NULL: a message, and 1 */
const dim *dims_fixed(const sema *s, const char *sym); /* its number; NULL: not fixed */
const dim *dims_of_top(inst *in, const char *name, const dim *value); /* `dim L = 8` of a file */
bool dims_fix(inst *in, const char *name, const dim *value); /* false: it is something else */
bool dims_const(sema *s, const dim *d, int64_t *c);
bool dims_equal(sema *s, const dim *a, const dim *b); /* one number, whatever the names */
bool dims_le(sema *s, const dim *a, const dim *b);    /* for all values of the symbols */
bool dims_lt(sema *s, const dim *a, const dim *b);
/* Two names are the same as names, anything else as numbers. */
bool dims_same(sema *s, const dim *a, const dim *b);

/* --- ranges.c --- */
const ix *pool_ix(sema *s, const dim *extent, const ix *const *avoid, size_t n_avoid,
                  const char *hint);
typedef VEC(const ix *) ix_list;
void env_ixs(const env *e, ix_list *out, arena *a); /* what is in scope */
void tv_ixs(const tv *v, ix_list *out, arena *a);   /* free and axis indices of a value */
/* The range of index `name` from how the syntax uses it: axes indexed by it bare. */
bool range_from_uses(env *e, const char *name, const ast_expr *const *where_used, size_t n, span at,
                     const dim **extent, const dim **lo, bool report);
void index_shadows(inst *in, const char *name, span at, span first, const char *what);
/* Binds the items of a binder (`j in S`, `j <= t`, `j`): new scopes and the condition they add. */
bool bind_items(env *e, const ast_index *items, const ast_expr *const *bodies, size_t n_bodies,
                const struct ix ***bound, uint32_t *n_bound, const dim ***los, value **cond);

/* --- tensor.c, read.c --- */
tensor *tensor_new(inst *in, const char *name, span at);
bool tensor_sig(tensor *t);    /* axes and type; false: bad, or busy in a trial */
bool tensor_define(tensor *t); /* its body, once */
void tensor_pieces(tensor *t);
tv tensor_read(env *e, tensor *t, const ast_index *index, span at); /* index NULL: whole */
tv tensor_read_at(env *e, tensor *t, value *const *part_index, value *const *part_support, span at);

/* --- expr.c, call.c, align.c --- */
/* One level deeper into definitions that need each other; false after a message (the first time).
 * The caller leaves it by s->depth--. */
bool sema_enter(sema *s, span at);
tv elab(env *e, const ast_expr *x);
tv elab_component(env *e, const ast_expr *x,
                  uint32_t k); /* of an expression with several results */
tv elab_call(env *e, const ast_expr *x, uint32_t component);
value *elab_condition(env *e, const ast_expr *x); /* a bool; absent counts as false; NULL: bad */
tv tv_poison(span at);
tv tv_value(value *v, span at);
bool tv_bad(const tv *v); /* poison or unknown: the caller passes it on */
tv tv_join_bad(const tv *a, const tv *b, span at);
/* Brings b's axes onto a's indices; the axes of the result are the union. False after a message. */
bool align(env *e, tv *a, tv *b, span at, const char *what);
/* The value over exactly these axes (a declared type's), split, merged or renamed as needed. */
bool fit_axes(env *e, tv *v, const axis *want, uint32_t n, span at, span want_at, const char *what);
tv rename_axes(env *e, tv v, const ix *const *avoid, size_t n_avoid);
tv apply_elem(env *e, op_id op, tv *args, uint32_t n, span at);
tv apply_mul(env *e, tv a, tv b, span at);
tv apply_contract(env *e, tv a, tv b, span at, bool dot);
tv to_real(env *e, tv v);
tv join_values(env *e, tv *parts, uint32_t n, span at);
tv split_last(env *e, tv v, uint32_t part, uint32_t of, span at);
const char *nearest_name(env *e, const char *name);

/* --- words.c --- */
const char *op_word(op_id op);
const char *dtype_word(dtype d);

/* --- instance.c --- */
entity *inst_find(inst *in, const char *name); /* locals of the instance only */
bool lookup(env *e, const char *name, entity *out);
inst *inst_call(env *e, funcref *f, const ast_expr *site, const ast_arg *args, size_t n_args,
                tv *vals, span at, uint32_t *n_mapped, axis **mapped);
void inst_declare(inst *in);
void inst_check(inst *in); /* elaborates every equation for its messages */
funcref *funcref_of(env *e, const ast_expr *x);
const char *funcref_name(const funcref *f);
tv inst_mask_result(env *e, tensor *t, tv v); /* absent where `until` has ended the row */
tv elab_own_operator(env *e, const ast_expr *x, funcref *f,
                     const ast_index *items); /* own normaliser, reducer */
inst *inst_entry(sema *s, const ast_decl *d, funcref *f, const ast_decl *model);
const ast_decl *decl_find(sema *s, const char *name);
tensor *param_tensor(inst *in, const ast_stmt *st, uint32_t which);
bool formal_names_dim(const ast_formal *f, const char *name);
bool type_names_dim(const ast_type *t, const char *name);
void inst_declare_const(inst *in, const ast_stmt *st);
bool bind_entry_argument(inst *in, funcref *f, const ast_formal *fm);
bool bind_entry_name(inst *in, const arg_binding *b);
bool input_formal(inst *in, const ast_formal *f); /* an entry's input as a leaf of the graph */
bool mentions_dim(const ast_decl *d, const char *name); /* in a type or a range */
span dim_place(const inst *in, const char *name); /* where a type of the function names it first */
void bind_formal(inst *in, const ast_formal *f, tv v);
tv default_value(inst *in, const ast_formal *fm);
tv take_result(env *e, inst *in, uint32_t k, uint32_t n_mapped, axis *mapped, span at);

/* --- until.c --- */
tensor *make_alive(inst *in, const ast_stmt *until);
void finish_until(inst *in);
#endif
