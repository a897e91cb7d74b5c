/* quantity.c: see the header. */
#include "frontend/cli/quantity.h"

#include <math.h>
#include <string.h>

void put_quantity(strbuf *out, double n, const char *unit)
{
    static const char *const prefix[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
    enum { NONE = 3, LAST = 8 };
    int at = NONE;
    while (at < LAST && fabs(n) >= 999.5) {
        n /= 1000;
        at++;
    }
    /* Only seconds come in parts. */
    while (at > 0 && n != 0 && fabs(n) < 0.9995 && strcmp(unit, "s") == 0) {
        n *= 1000;
        at--;
    }
    bool bare = !*unit && at == NONE;
    sb_printf(out, "%.3g%s%s%s", n, bare ? "" : " ", prefix[at], unit);
}
