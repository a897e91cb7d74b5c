/* schedule_online_code.c: words of code that the files of online tiles have in common. */
#include <math.h>

#include "passes/schedule_online_tile.h"

const kexpr *online_zero(sched *s)
{
    return kx_real(s->k, 0.0);
}

const kexpr *online_minus_inf(sched *s)
{
    return kx_real(s->k, -(double)INFINITY);
}

const kexpr *online_loop(sched *s, const char *name, const kexpr *lo, const kexpr *hi, kloop kind,
                         scope *o)
{
    kvar *v = kernel_var(s->k, name, DT_I64, false);
    kstmt *loop = ks_for(s->k, s->at, v, lo, hi, kind);
    *o = scope_open(s, &loop->body);
    return kx_var(s->k, v);
}

const kexpr *online_count(sched *s, int64_t n)
{
    return kx_int(s->k, n);
}

const kexpr *online_load1(sched *s, const kbuf *b, const kexpr *i)
{
    return kx_load(s->k, b, &i);
}

void online_store1(sched *s, const kbuf *b, const kexpr *i, const kexpr *e)
{
    ks_store(s->k, s->at, b, &i, e);
}

const kexpr *online_load2(sched *s, const kbuf *b, const kexpr *i, const kexpr *j)
{
    return kx_load(s->k, b, (const kexpr *const[]){i, j});
}

void online_store2(sched *s, const kbuf *b, const kexpr *i, const kexpr *j, const kexpr *e)
{
    ks_store(s->k, s->at, b, (const kexpr *const[]){i, j}, e);
}
