#include "tensor/kernels/kernels.h"

#include <string.h>

#include "tensor/context.h"

extern const tgi_kernels tgi_kernels_baseline;
#ifdef TGI_KERNELS_AVX2
extern const tgi_kernels tgi_kernels_avx2;
extern const tgi_kernels tgi_kernels_avx512;
#endif

/* The tables from the slowest to the fastest, up to the first that the processor cannot run. */
static int runnable(const tgi_kernels *tables[3]) {
    int n = 0;
    tables[n++] = &tgi_kernels_baseline;
#ifdef TGI_KERNELS_AVX2
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return n;
    tables[n++] = &tgi_kernels_avx2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return n;
    tables[n++] = &tgi_kernels_avx512;
#endif
    return n;
}

const tgi_kernels *tgi_kernels_best(void) {
    const tgi_kernels *tables[3];
    return tables[runnable(tables) - 1];
}

const tgi_kernels *tgi_kernels_named(const char *name) {
    const tgi_kernels *tables[3];
    int n = runnable(tables);
    for (int i = 0; i < n; i++)
        if (strcmp(tables[i]->name, name) == 0)
            return tables[i];
    return NULL;
}

int tg_kernels_count(void) {
    const tgi_kernels *tables[3];
    return runnable(tables);
}

const char *tg_kernels_name(int i) {
    const tgi_kernels *tables[3];
    return i >= 0 && i < runnable(tables) ? tables[i]->name : NULL;
}
