/* Compiled with -DBUT="a change of the description" and, for the last cases, -DENTRY. */
#include "fanin_scheme.h"

#ifndef BUT
#define BUT .no_ecn = 0
#endif
#ifndef PARAMETER
#define PARAMETER "one", "a number", 1, 0, 2, FANIN_NUMBER
#endif

static void open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    (void)me, (void)control, (void)path, (void)cx;
}
static const fanin_parameter parameters[] = {{PARAMETER}, {"two", "a number", 1, 0, 2, FANIN_NUMBER}};
static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof scheme, .id = "refused",
    .parameters = parameters, .parameter_count = 2, .sender = {.size = 8, .open = open}, BUT,
};

#ifndef ENTRY
#define ENTRY const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
#endif
ENTRY
const struct fanin_scheme *unused(void);
const struct fanin_scheme *unused(void) { return &scheme; }
