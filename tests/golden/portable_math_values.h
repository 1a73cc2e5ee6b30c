/* Made by make_portable_math.py, which says what this is. */
/* clang-format off */
enum { HASHED_VALUES = 20000 };
static const uint64_t log_hash = 0x49b71e187154d4c9u;
static const uint64_t sine_hash = 0xbcdca2bd8c0e27b5u;
static const uint64_t cosine_hash = 0xbde1efda2876dbabu;
/* clang-format on */
