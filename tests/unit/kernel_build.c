/* kernel_build.c: constructors, unique names, and what the verifier finds in kernels that were
 * built wrong. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/kernel/kernel.h"

typedef struct session {
    mem m;
    arena *a;
    diags ds;
    kernel *k;
    kbuf *x, *y, *z;
} session;

static void open_session(session *s)
{
    *s = (session){0};
    s->a = arena_new(&s->m);
    diags_init(&s->ds, s->a, NULL);
    strtab *names = strtab_new(s->a);
    dims *d = dims_new(s->a, names);
    s->k = kernel_new(s->a, names, d, "k", DT_F32);
    const dim *t = dim_sym(d, intern(names, "T"));
    kernel_symbol(s->k, "T");
    s->x = kernel_buf(s->k, KB_INPUT, "x", ST_F32, &t, 1);
    s->y = kernel_buf(s->k, KB_OUTPUT, "y", ST_F16, &t, 1);
    s->z = kernel_buf(s->k, KB_TEMP, "z", ST_F32, &t, 1);
    s->x->label = "x";
    s->y->label = "y";
}

static const kexpr *element(session *s, const kbuf *b)
{
    const kexpr *zero = kx_int(s->k, 0);
    return kx_load(s->k, b, &zero);
}

static kstmt *put(session *s, const kbuf *b, const kexpr *e)
{
    const kexpr *zero = kx_int(s->k, 0);
    return ks_store(s->k, &s->k->body, b, &zero, e);
}

static void break_scope(session *s)
{
    kvar *v = kernel_var(s->k, "v", DT_F32, false);
    kstmt *i = ks_if(s->k, &s->k->body, kx_bool(s->k, true));
    ks_let(s->k, &i->body, v, kx_real(s->k, 1));
    put(s, s->z, kx_var(s->k, v));
}

static void break_order(session *s)
{
    kvar *v = kernel_var(s->k, "v", DT_F32, false);
    put(s, s->z, kx_var(s->k, v));
    ks_let(s->k, &s->k->body, v, kx_real(s->k, 1));
}

static void break_twice(session *s)
{
    kvar *v = kernel_var(s->k, "v", DT_F32, false);
    ks_let(s->k, &s->k->body, v, kx_real(s->k, 1));
    ks_let(s->k, &s->k->body, v, kx_real(s->k, 1));
}

static void break_set(session *s)
{
    kvar *v = kernel_var(s->k, "v", DT_F32, true);
    ks_set(s->k, &s->k->body, v, kx_real(s->k, 1));
}

static void break_input(session *s)
{
    put(s, s->x, kx_real(s->k, 1));
}

static void break_narrow(session *s)
{
    put(s, s->z, element(s, s->y));
}

static void break_rank(session *s)
{
    put(s, s->z, kx_real(s->k, 1))->n_index = 0;
}

static void break_type(session *s)
{
    put(s, s->z, kx_real(s->k, 1))->e = kx_int(s->k, 1);
}

static void break_step(session *s)
{
    kvar *v = kernel_var(s->k, "i", DT_I64, false);
    ks_for(s->k, &s->k->body, v, kx_int(s->k, 0), kx_int(s->k, 1), KL_SEQ)->step = 0;
}

static void break_status(session *s)
{
    ks_check(s->k, &s->k->body, kx_bool(s->k, true), 99);
}

static void break_names(session *s)
{
    s->z->name = s->x->name;
}

static void break_stranger(session *s)
{
    kernel *other = kernel_new(s->a, s->k->names, s->k->dims, "other", DT_F32);
    kvar *v = kernel_var(other, "v", DT_F32, false);
    put(s, s->z, kx_var(s->k, v));
}

static void break_optional(session *s)
{
    s->z->optional = true;
}

static void break_order_of_buffers(session *s)
{
    const dim *t = s->x->shape[0];
    kernel_buf(s->k, KB_PARAM, "w", ST_F32, &t, 1)->label = "w";
}

static const struct {
    void (*run)(session *s);
    const char *message;
} faults[] = {
    {break_scope, "behind the block"},   {break_order, "before it is defined"},
    {break_twice, "defined twice"},      {break_set, "cannot be set"},
    {break_input, "is stored to"},       {break_narrow, "read back"},
    {break_rank, "indexed by 0"},        {break_type, "not f32"},
    {break_step, "has the step 0"},      {break_status, "unknown status"},
    {break_names, "used twice"},         {break_stranger, "not of this kernel"},
    {break_optional, "optional and no"}, {break_order_of_buffers, "later role"},
};

START_TEST(found)
{
    session s;
    open_session(&s);
    ck_assert(kernel_verify(s.k, &s.ds, "before"));
    faults[_i].run(&s);
    ck_assert(!kernel_verify(s.k, &s.ds, "after"));
    ck_assert_ptr_nonnull(s.ds.first);
    ck_assert_msg(strstr(s.ds.first->text, faults[_i].message), "%s", s.ds.first->text);
    arena_free(s.a);
}
END_TEST

START_TEST(names)
{
    session s;
    open_session(&s);
    ck_assert_str_eq(kernel_var(s.k, "x", DT_I64, false)->name, "x1");
    ck_assert_str_eq(kernel_var(s.k, "x", DT_I64, false)->name, "x2");
    ck_assert_str_eq(kernel_var(s.k, "x1", DT_I64, false)->name, "x11");
    ck_assert_str_eq(kernel_var(s.k, "h.0", DT_I64, false)->name, "h_0");
    ck_assert_str_eq(kernel_var(s.k, "7", DT_I64, false)->name, "_7");
    ck_assert_str_eq(kernel_var(s.k, "", DT_I64, false)->name, "_");
    ck_assert_str_eq(kernel_var(s.k, "for", DT_I64, false)->name, "for1");
    ck_assert_str_eq(kernel_var(s.k, "add", DT_I64, false)->name, "add1");
    ck_assert_str_eq(kernel_var(s.k, "T", DT_I64, false)->name, "T1");
    for (int i = 0; i < 100000; i++) /* in no time */
        kernel_var(s.k, "many", DT_I64, false);
    arena_free(s.a);
}
END_TEST

START_TEST(types)
{
    session s;
    open_session(&s);
    const dtype f2[3] = {DT_F32, DT_F32}, mixed[3] = {DT_F32, DT_I64},
                sel[3] = {DT_BOOL, DT_I64, DT_I64};
    const dtype i2[3] = {DT_I64, DT_I64}, b2[3] = {DT_BOOL, DT_BOOL};
    ck_assert_int_eq(kernel_op_type(s.k, OP_add, f2), DT_F32);
    ck_assert_int_eq(kernel_op_type(s.k, OP_add, mixed), DT_NONE);
    ck_assert_int_eq(kernel_op_type(s.k, OP_add, b2), DT_NONE);
    ck_assert_int_eq(kernel_op_type(s.k, OP_exp, i2), DT_NONE);
    ck_assert_int_eq(kernel_op_type(s.k, OP_lt, i2), DT_BOOL);
    ck_assert_int_eq(kernel_op_type(s.k, OP_select, sel), DT_I64);
    ck_assert_int_eq(kernel_op_type(s.k, OP_round, f2), DT_I64);
    ck_assert_int_eq(kernel_op_type(s.k, OP_real, i2), DT_F32);
    ck_assert_int_eq(kernel_op_type(s.k, OP_softmax, f2), DT_NONE);
    ck_assert_int_eq(element(&s, s.y)->dt, DT_F32); /* f16 is read as the kernel's real */
    arena_free(s.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kernel_build");
    TCase *c = tcase_create("kernel_build");
    tcase_add_loop_test(c, found, 0, sizeof faults / sizeof faults[0]);
    tcase_add_test(c, names);
    tcase_add_test(c, types);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
