/* quantity.h: numbers with units, for people: "12.3 ms", "1.05 GFLOP/s". */
#ifndef ATTNC_FRONTEND_CLI_QUANTITY_H
#define ATTNC_FRONTEND_CLI_QUANTITY_H

#include "ir/base/str.h"

/* Three digits and a prefix from n to P, 1000 apart. An empty unit: the number and the prefix. */
void put_quantity(strbuf *out, double n, const char *unit);

#endif
