/* vec.h: growable arrays on an arena.
 *
 *     VEC(value *) todo = {0};
 *     vec_push(a, &todo, v);
 *     for (size_t i = 0; i < todo.n; i++) use(todo.v[i]);
 *
 * Growing leaves the old block to the arena: at most as much again as the vector holds. */
#ifndef ATTNC_IR_BASE_VEC_H
#define ATTNC_IR_BASE_VEC_H

#include "ir/base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *v;                                                                                      \
        size_t n, cap;                                                                             \
    }

void *vec_grow_(arena *a, void *v, size_t *cap, size_t n, size_t elem);

#define vec_push(a, vec, x)                                                                        \
    do {                                                                                           \
        if ((vec)->n == (vec)->cap)                                                                \
            (vec)->v = vec_grow_((a), (vec)->v, &(vec)->cap, (vec)->n, sizeof *(vec)->v);          \
        (vec)->v[(vec)->n++] = (x);                                                                \
    } while (0)
#define vec_last(vec) ((vec)->v[(vec)->n - 1])

#endif
