#include "tensor/version.h"

const char *tg_version(void) {
    return TGI_VERSION;
}
