/* The number type of the library: float, or double in the library tapegrad_f64.
 *
 * The build target sets TG_F64 for whoever links tapegrad_f64; never define it by hand. A program
 * compiled for one type and linked to the other is refused when it makes its first tape. */
#ifndef TG_REAL_H
#define TG_REAL_H

#ifdef __FAST_MATH__
#error "tapegrad cannot be compiled with fast-math: NaN and infinity mean what they mean"
#endif

#include <float.h>

#if FLT_EVAL_METHOD != 0
#error "tapegrad needs arithmetic in the type of its operands (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

#ifdef TG_F64
typedef double tg_real;
#else
typedef float tg_real;
#endif

#endif
