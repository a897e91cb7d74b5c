/* number.c: reals as text and back, exact and the same in every locale.
 *
 * The C library does the rounding; only its decimal point depends on the locale, so no text with a
 * point is ever handed to it, and the point it prints is not copied. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/str.h"

/* Splits "%.*e" output into its digits (trailing zeros cut) and decimal exponent. */
static int digits_of(double d, int precision, char digits[32], int *exponent)
{
    char text[64];
    int n = 0;
    snprintf(text, sizeof text, "%.*e", precision - 1, d);
    const char *e = strchr(text, 'e');
    for (const char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    *exponent = (int)strtol(e + 1, NULL, 10);
    return n;
}

void sb_put_double(strbuf *b, double d)
{
    if (isnan(d)) {
        sb_puts(b, "nan");
        return;
    }
    if (signbit(d)) {
        sb_puts(b, "-");
        d = -d;
    }
    if (isinf(d)) {
        sb_puts(b, "inf");
        return;
    }
    char digits[32], again[64];
    int exponent = 0, n = 0;
    for (int precision = 1; precision <= 17; precision++) {
        n = digits_of(d, precision, digits, &exponent);
        snprintf(again, sizeof again, "%.*se%d", n, digits, exponent - (n - 1));
        if (strtod(again, NULL) == d)
            break;
    }
    if (exponent < -4 || exponent > 16) {
        sb_putn(b, digits, 1);
        if (n > 1) {
            sb_puts(b, ".");
            sb_putn(b, digits + 1, (size_t)(n - 1));
        }
        sb_printf(b, "e%d", exponent);
    } else if (exponent < 0) {
        sb_puts(b, "0.");
        for (int i = -1; i > exponent; i--)
            sb_puts(b, "0");
        sb_putn(b, digits, (size_t)n);
    } else {
        for (int i = 0; i <= exponent; i++)
            sb_putn(b, i < n ? &digits[i] : "0", 1);
        if (n > exponent + 1) {
            sb_puts(b, ".");
            sb_putn(b, digits + exponent + 1, (size_t)(n - exponent - 1));
        }
    }
}

/* Reads `s` as DIGITS [. DIGITS] [e [sign] DIGITS]; the mantissa goes to the C library without its
 * point: "12.5e3" as "125e2". Exponents are clamped where no double could tell the difference. */
bool str_to_double(arena *scratch, const char *s, size_t n, double *out)
{
    const long long far = 1LL << 40;
    char *t = arena_alloc(scratch, n + 32);
    size_t used = 0, i = 0, n_digits = 0;
    long long shift = 0, exponent = 0;
    if (i < n && (s[i] == '-' || s[i] == '+'))
        t[used++] = s[i++];
    for (bool after = false; i < n; i++) {
        if (s[i] == '.' && !after) {
            after = true;
        } else if (s[i] >= '0' && s[i] <= '9') {
            t[used++] = s[i];
            n_digits++;
            shift -= after;
        } else {
            break;
        }
    }
    if (n_digits == 0)
        return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        bool negative = false;
        i++;
        if (i < n && (s[i] == '-' || s[i] == '+'))
            negative = s[i++] == '-';
        if (i == n)
            return false;
        for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
            exponent = exponent < far ? exponent * 10 + (s[i] - '0') : far;
        if (negative)
            exponent = -exponent;
    }
    if (i != n)
        return false;
    snprintf(t + used, 32, "e%lld", exponent + shift);
    *out = strtod(t, NULL);
    return true;
}
