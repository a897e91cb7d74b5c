/* header.c: the C header of compiled models: typed structs and prototypes over the interface of
 * attn_abi.h, for C11 and C++17. Names come from iface.c; that they do not clash is backend_check's
 * duty. */
#include <string.h>

#include "backend/iface.h"

static const char *const c_types[ST_COUNT] = {
    [ST_F32] = "float",   [ST_F64] = "double",  [ST_F16] = "uint16_t", [ST_BF16] = "uint16_t",
    [ST_I64] = "int64_t", [ST_I32] = "int32_t", [ST_U8] = "uint8_t",   [ST_BOOL] = "uint8_t",
};

/* Text of the program inside a C comment: it may neither end nor open one. */
static void put_comment(strbuf *out, const char *s)
{
    char last = 0;
    for (; *s; s++) {
        if ((last == '*' && *s == '/') || (last == '/' && *s == '*'))
            sb_puts(out, " ");
        bool control = (unsigned char)*s < 0x20 || *s == 0x7f;
        sb_putn(out, control ? "?" : s, 1);
        last = *s;
    }
}

static void put_tensor(strbuf *out, const iface_buf *f)
{
    const kbuf *b = f->buf;
    sb_puts(out, "    /* ");
    put_comment(out, b->label ? b->label : b->name);
    sb_printf(out, ": %s", store_table[b->store].text);
    if (b->rank > b->n_family) {
        for (uint32_t i = b->n_family; i < b->rank; i++) {
            sb_puts(out, i == b->n_family ? "[" : ", ");
            dim_print(b->shape[i], out);
        }
        sb_puts(out, "]");
    } else {
        sb_puts(out, ", one element");
    }
    if (b->store == ST_BOOL)
        sb_puts(out, ", 0 or 1 each");
    else if (b->store == ST_F16 || b->store == ST_BF16)
        sb_puts(out, ", as its 16 bits");
    if (b->n_family > 0)
        sb_printf(out, "; %lld separate tensors", (long long)f->n);
    if (b->optional)
        sb_puts(out, "; optional: may be NULL");
    if (b->source) {
        sb_puts(out, b->role == KB_PARAM ? "; in the checkpoint: " : "; in files: ");
        put_comment(out, b->source);
    }
    sb_puts(out, " */\n    ");
    sb_printf(out, "%s%s *%s", f->role == ATTN_OUTPUT ? "" : "const ", c_types[b->store],
              f->member);
    if (b->n_family > 0) {
        for (uint32_t i = 0; i < b->n_family; i++) {
            int64_t c = 1;
            dim_is_const(b->shape[i], &c);
            sb_printf(out, "[%lld]", (long long)c);
        }
    }
    sb_puts(out, ";\n");
}

static void put_struct(strbuf *out, const iface *f, attn_role role)
{
    static const char *const titles[PART_COUNT][3] = {
        [PART_RUN] =
            {[ATTN_INPUT] = "Inputs", [ATTN_PARAM] = "Parameters", [ATTN_OUTPUT] = "Outputs"},
        [PART_BEGIN] = {[ATTN_INPUT] = "Inputs of the beginning"},
        [PART_STEP] =
            {[ATTN_INPUT] = "Inputs of `rows` steps", [ATTN_OUTPUT] = "Outputs of `rows` steps"},
    };
    const char *suffix = iface_struct(f->part, role);
    sb_printf(out, "/* %s%s */\ntypedef struct %s_%s {\n", titles[f->part][role],
              f->n_slots[role] ? "." : ": none; the pointer may be NULL.", f->symbol, suffix);
    for (size_t i = 0; i < f->n_bufs; i++)
        if (f->bufs[i].role == role && f->bufs[i].n > 0)
            put_tensor(out, &f->bufs[i]);
    if (f->n_slots[role] == 0)
        sb_puts(out, "    const void *unused;\n");
    sb_printf(out, "} %s_%s;\n\n", f->symbol, suffix);
}

static void put_dims(strbuf *out, const iface *f)
{
    const kernel *k = f->k;
    sb_printf(out, "/* Sizes of axes%s */\ntypedef struct %s_dims {\n",
              k->symbols.n ? ", 0 .. 2^40 each." : ": all are fixed; the pointer may be NULL.",
              f->symbol);
    for (size_t i = 0; i < k->symbols.n; i++)
        sb_printf(out, "    int64_t %s;\n", f->members[i]);
    if (k->symbols.n == 0)
        sb_puts(out, "    int64_t unused;\n");
    sb_printf(out, "} %s_dims;\n\n", f->symbol);
    for (size_t i = 0; i < k->checks.n; i++) {
        const graph_check *c = &k->checks.v[i];
        sb_puts(out, i == 0 ? "/* Broken, each of these gives ATTN_DIM:\n" : "");
        sb_puts(out, " *   ");
        put_comment(out, dim_text(out->a, c->a));
        sb_puts(out, c->le ? " <= " : " == ");
        put_comment(out, dim_text(out->a, c->b));
        if (c->text && c->text[0]) {
            sb_puts(out, "   ");
            put_comment(out, c->text);
        }
        sb_puts(out, i + 1 == k->checks.n ? " */\n\n" : "\n");
    }
}

static void put_size(strbuf *out, const iface *f, attn_role role, long long n)
{
    const char *name = iface_struct(f->part, role);
    sb_printf(out,
              "ATTN_STATIC_ASSERT(sizeof(%s_%s) == %lld * sizeof(void *), \"layout of %s_%s\");\n",
              f->symbol, name, n, f->symbol, name);
}

static void put_layout(strbuf *out, const iface *f)
{
    size_t n_dims = f->k->symbols.n ? f->k->symbols.n : 1;
    if (f->part == PART_RUN)
        sb_printf(out,
                  "ATTN_STATIC_ASSERT(sizeof(%s_dims) == %llu * sizeof(int64_t), \"layout of "
                  "%s_dims\");\n",
                  f->symbol, (unsigned long long)n_dims, f->symbol);
    for (int r = 0; r < 3; r++) {
        long long n = f->n_slots[r] ? (long long)f->n_slots[r] : 1;
        if (f->part == PART_RUN || (r != ATTN_PARAM && iface_struct(f->part, (attn_role)r)))
            put_size(out, f, (attn_role)r, n);
    }
    sb_puts(out, "\n");
}

static void put_prototypes(strbuf *out, const iface *f)
{
    const char *s = f->symbol;
    sb_printf(out,
              "/* Bytes of workspace for `threads` threads; SIZE_MAX: the dims are refused. The "
              "block must be\n"
              " * aligned to ATTN_BLOCK_ALIGN; concurrent calls need one each. NULL will do for 0 "
              "bytes. */\n"
              "size_t %s_workspace(const %s_dims *dims, int threads);\n\n",
              s, s);
    sb_printf(
        out,
        "/* Bytes of prepared parameters; SIZE_MAX: the dims are refused. 0: nothing is prepared. "
        "*/\n"
        "size_t %s_prepared(const %s_dims *dims);\n\n"
        "/* Packs the parameters once for many calls. The block must be aligned to "
        "ATTN_BLOCK_ALIGN; it is\n * only read by them. */\n"
        "attn_status %s_prepare(const %s_dims *dims, const %s_params *params, void *prepared);\n\n",
        s, s, s, s, s);
    sb_printf(out,
              "/* Runs the model. Outputs may overlap nothing else. prepared: what %s_prepare "
              "filled, or NULL:\n"
              " * then each call packs them in its workspace. exec: threads of the host, or NULL "
              "for this one. */\n"
              "attn_status %s(const %s_dims *dims, const %s_params *params, const void *prepared,\n"
              "    const %s_inputs *inputs, %s_outputs *outputs, void *workspace,\n"
              "    const attn_exec *exec);\n\n",
              s, s, s, s, s, s);
    sb_printf(out,
              "/* The same interface as data, for hosts that learn it at run time. */\n"
              "extern const attn_model_info %s_info;\n\n",
              s);
}

/* _state, _begin and _step with their structs. */
static void put_steps(strbuf *out, const kernel *k)
{
    const iface *begin = iface_of_part(out->a, k, PART_BEGIN);
    const iface *step = iface_of_part(out->a, k, PART_STEP);
    const char *s = begin->symbol;
    sb_printf(out, "/* Step by step: the same model on up to ");
    put_comment(out, dim_text(out->a, k->capacity));
    sb_printf(out, " steps, as they come; `%s` is the number of a call's\n * steps. */\n\n",
              k->rows);
    put_struct(out, begin, ATTN_INPUT);
    put_struct(out, step, ATTN_INPUT);
    put_struct(out, step, ATTN_OUTPUT);
    put_layout(out, begin);
    put_layout(out, step);
    sb_printf(out,
              "/* Bytes of the state of one run, whose capacity the dims say; SIZE_MAX: they are "
              "refused. The block\n"
              " * must be aligned to ATTN_BLOCK_ALIGN; it may be copied and moved. */\n"
              "size_t %s_state(const %s_dims *dims);\n\n",
              s, s);
    sb_printf(
        out,
        "/* Begins: fills `state`. What the parameters and `prepared` point to must stay; the "
        "dims and inputs\n * need not. Without `prepared` each call packs what it needs. */\n"
        "attn_status %s_begin(const %s_dims *dims, const %s_params *params, const void "
        "*prepared,\n"
        "    const %s_begin_inputs *inputs, void *state, void *workspace, const attn_exec "
        "*exec);\n\n",
        s, s, s, s);
    sb_printf(out,
              "/* Goes %s steps on, any number at a time. Beyond the capacity: ATTN_CAPACITY. What "
              "is refused leaves\n"
              " * the state as it was; after ATTN_INDEX and ATTN_INT begin anew. workspace: as of "
              "%s_workspace. */\n"
              "attn_status %s_step(void *state, int64_t %s, const %s_step_inputs *inputs,\n"
              "    %s_step_outputs *outputs, void *workspace, const attn_exec *exec);\n\n",
              k->rows, s, s, k->rows, s, s);
}

/* The include guard: the file's name in capitals. */
static const char *guard_of(arena *a, const char *basename)
{
    strbuf b = {.a = a};
    sb_puts(&b, "ATTN_MODEL_");
    for (const char *p = basename; *p; p++) {
        char c = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        bool fine = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        sb_putn(&b, fine ? &c : "_", 1);
    }
    return sb_text(&b);
}

void backend_print_header(kernel *const *kernels, size_t n, const char *basename, strbuf *out)
{
    arena *a = out->a;
    const char *guard = guard_of(a, basename);
    sb_puts(out, "/* ");
    put_comment(out, basename);
    sb_printf(
        out,
        ": compiled models. Made by attnc; changes are lost.\n *\n"
        " * Tensors are contiguous, the last axis fastest, and aligned to their element. No "
        "entry point\n"
        " * allocates or keeps anything of its own: all may be called from several threads at "
        "once, with a\n * workspace (and state) for each. */\n"
        "#ifndef %s\n#define %s\n\n#include \"attn_abi.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        guard, guard);
    for (size_t i = 0; i < n; i++) {
        iface *f = iface_new(a, kernels[i]);
        sb_puts(out, "/* ---- model ");
        put_comment(out, kernels[i]->name);
        sb_puts(out, " ---- */\n\n");
        put_dims(out, f);
        put_struct(out, f, ATTN_PARAM);
        put_struct(out, f, ATTN_INPUT);
        put_struct(out, f, ATTN_OUTPUT);
        put_layout(out, f);
        put_prototypes(out, f);
        if (kernels[i]->stepper)
            put_steps(out, kernels[i]->stepper);
    }
    sb_puts(out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
