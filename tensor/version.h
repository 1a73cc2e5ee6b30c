/* The version of the library. */
#ifndef TG_VERSION_H
#define TG_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is linked. A static string. */
const char *tg_version(void);

#ifdef __cplusplus
}
#endif

#endif
