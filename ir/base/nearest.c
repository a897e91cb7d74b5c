/* nearest.c: which known name a misspelt one may have meant. */
#include <stdbool.h>
#include <string.h>

#include "ir/base/str.h"

#define LONGEST                                                                                    \
    64 /* longer names are not compared: the table would be large and a typo unlikely              \
        */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edit distance with swaps of neighbours; every edit costs 2, a change of case only costs 1. At
 * least 1 for names that differ. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *prev = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        prev[j] = (unsigned)j * 2;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i * 2;
        for (size_t j = 1; j <= nb; j++) {
            char x = a[i - 1], y = b[j - 1];
            unsigned best = prev[j - 1] + (x == y ? 0u : lower(x) == lower(y) ? 1u : 2u);
            if (prev[j] + 2 < best)
                best = prev[j] + 2;
            if (row[j - 1] + 2 < best)
                best = row[j - 1] + 2;
            if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y && before[j - 2] + 2 < best)
                best = before[j - 2] + 2;
            row[j] = best;
        }
        unsigned *free_row = before;
        before = prev;
        prev = row;
        row = free_row;
    }
    return prev[nb];
}

static bool same_but_case(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return *a == *b;
}

const char *str_nearest(arena *scratch, const char *name, const char *const *candidates, size_t n)
{
    (void)scratch;
    size_t len = strlen(name);
    if (len == 0 || len > LONGEST)
        return NULL;
    /* Names of one or two letters are all near each other: only their case may differ. */
    unsigned limit = len <= 2 ? 1 : len <= 5 ? 2 : len <= 8 ? 4 : 6;
    const char *found = NULL;
    for (size_t i = 0; i < n && limit > 0; i++) {
        size_t m = candidates[i] ? strlen(candidates[i]) : 0;
        if (m == 0 || m > LONGEST || strcmp(name, candidates[i]) == 0)
            continue;
        unsigned d = same_but_case(name, candidates[i]) ? 1 : distance(name, len, candidates[i], m);
        if (d <= limit) {
            limit = d - 1; /* the first of equally near names stays */
            found = candidates[i];
        }
    }
    return found;
}
