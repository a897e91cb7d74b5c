/* fuse_softmax_sum.c: a normaliser and the sums over its indices become one online op.
 *
 * Requires: nothing; simplify first finds more. Keeps: results but for rounding, for inf and NaN
 * too, except that (a) a weight of exactly 0 adds 0 to a sum written with mul or contract, as it
 * does with weigh, whatever stands there; (b) weights written by hand are those of softmax where
 * every score is -inf (0, not NaN). Breaks: nothing.
 *
 *   sum over j of weigh(softmax over j of s, x)        part 0 of online softmax s over j sum x
 *   the same as mul, contract, over more indices       and with factors, divisions, conditions:
 *                                                      those with j go with x, others come out
 *   several such sums                                  several streams of one op
 *   normalize                                          online normalize
 *   exp(s - max s), its sum, sums with it              the same, with what the division leaves
 *   a costly kernel, its sum, sums with it             online plain
 *   reduce max, logsumexp of the same scores           parts of it
 *   the weights, where they are used otherwise         a part of it
 *   softmax of [s; z], read at s                       softmax of s times a factor (fuse_split.c)
 *   softmax over j, summed over i                      its statistics, then a kernel (fuse_split.c)
 */
#include "passes/fuse_internal.h"
#include "passes/pass.h"

static void analyse_once(fuse *f)
{
    size_t n = f->g->values.n;
    graph_live(f->g, f->scratch, &f->live);
    f->home = graph_homes(f->g, f->scratch, &f->live);
    f->total_of = ARENA_ARRAY(f->scratch, value *, n);
    f->next_total = ARENA_ARRAY(f->scratch, value *, n);
    f->sum_of = ARENA_ARRAY(f->scratch, fuse_sum *, n);
    f->weights_of = ARENA_ARRAY(f->scratch, fuse_group *, n);
    f->stat_of = ARENA_ARRAY(f->scratch, fuse_group *, n);
    f->why = ARENA_ARRAY(f->scratch, const char *, n);
    f->needed = ARENA_ARRAY(f->scratch, unsigned char, n);
    fuse_match(f);
}

void fuse_analyse(fuse *f, graph *g, arena *scratch)
{
    size_t before = 0;
    do { /* predicates that it makes have places in the tables the second time */
        *f = (fuse){.g = g, .scratch = scratch};
        before = g->values.n;
        analyse_once(f);
    } while (g->values.n != before);
    fuse_groups(f);
}

bool pass_fuse_softmax_sum(pass_ctx *pc)
{
    fuse f;
    pc->changed = fuse_split(pc);
    fuse_analyse(&f, pc->g, pc->scratch);
    f.pc = pc;
    pc->changed = fuse_build(&f) || pc->changed;
    return true;
}
