# What every target of the project is compiled with.

# Promise 2 (the same bits everywhere) and NaN both end where the compiler may rewrite arithmetic.
string(TOUPPER "${CMAKE_BUILD_TYPE}" tapegrad_build_type)
set(tapegrad_forced_flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${tapegrad_build_type}}")
if(tapegrad_forced_flags MATCHES
   "-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-ffinite-math-only|-freciprocal-math")
    message(FATAL_ERROR "tapegrad cannot be compiled with ${CMAKE_MATCH_0}: it changes results in "
                        "silence. Remove it from CMAKE_C_FLAGS (or CFLAGS).")
endif()

add_library(tapegrad_compiler INTERFACE)
target_compile_features(tapegrad_compiler INTERFACE c_std_11)
target_compile_options(tapegrad_compiler INTERFACE -ffp-contract=off -fno-fast-math
                                                   -fno-unsafe-math-optimizations
                                                   -fno-associative-math -fno-reciprocal-math
                                                   -fno-finite-math-only)
if(TAPEGRAD_IS_TOP_LEVEL)
    target_compile_options(tapegrad_compiler INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                       -Wconversion)
endif()
if(TAPEGRAD_WERROR)
    target_compile_options(tapegrad_compiler INTERFACE -Werror)
endif()

# Kernels: one source, compiled once for each instruction set that the target architecture has.
set(tapegrad_kernel_tables baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND tapegrad_kernel_tables avx2 avx512)
endif()
set(tapegrad_flags_avx2 -mavx2 -mfma)
set(tapegrad_flags_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma
                          -mprefer-vector-width=512)
