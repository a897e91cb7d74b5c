/* use.c - calls a compiled model from C: the self-attention RNN of ../rnn_self_attention.attn, on
 * three words.
 *
 *   attnc build examples/rnn_self_attention.attn --entry run -o librsa.so
 *   cc examples/embed/use.c -I. -L. -lrsa -Wl,-rpath,. -o use && ./use */
#include <stdio.h>
#include <stdlib.h>

#include "librsa.h"

int main(void)
{
    run_dims d = {.B = 1, .T = 3, .D = 1, .H = 2};
    float A[] = {2, 0, 0, -2, 0, 0}, b[] = {0, 0}; /* [H, D + H], [H] */
    float x[] = {1, -1, 1};                        /* [B, T, D] */
    float h[6], c[6], alpha[9];                    /* [B, T, H], [B, T, H], [B, T, T] */
    run_params params = {A, b};
    run_inputs inputs = {x};
    run_outputs outputs = {h, c, alpha};

    size_t bytes = run_workspace(&d, 1);
    void *work = NULL;
    if (bytes == SIZE_MAX || posix_memalign(&work, ATTN_BLOCK_ALIGN, bytes) != 0) {
        fprintf(stderr, "these sizes are refused\n");
        return 1;
    }
    attn_status status = run(&d, &params, NULL, &inputs, &outputs, work, NULL);
    if (status == ATTN_OK) {
        for (int t = 0; t < 3; t++)
            printf("%.3f %.3f %.3f\n", alpha[3 * t], alpha[3 * t + 1], alpha[3 * t + 2]);
    } else {
        fprintf(stderr, "%s\n", attn_status_text(status));
    }
    free(work);
    return status != ATTN_OK;
}
