/*
 * A queue discipline in C: marks data that joins a queue of more than `above` bytes in its class. It is the built-in
 * `marking = { kind = "step", above = "30 KB", at = "enqueue" }` as a program: runs of both have the same event hash.
 *
 *   cc -O2 -shared -fPIC -I crates/own/include -o libstep_mark.so examples/own/step_mark.c
 *   fanin run examples/incast.toml --discipline ./libstep_mark.so --set 'network.marking={ kind = "off" }'
 */
#include "fanin_scheme.h"

enum { ABOVE };

static const fanin_parameter parameters[] = {
    {"above", "bytes queued in the packet's class above which it is marked", 30000, 0, 1e9, FANIN_INTEGER},
};

/* The network has no marking of its own, and the buffer still drops what it has no room for. */
static uint32_t on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    const uint32_t data = 0;
    (void)me;
    if (packet->kind != data) return FANIN_ADMIT;
    return queue->view.of_class > (uint64_t)cx->parameters[ABOVE].integer ? FANIN_MARK : FANIN_ADMIT;
}

static const struct fanin_policy step_mark = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof step_mark,
    .id = "step-mark",
    .manual = "# step-mark: marks above a threshold\n\n## Idea\n"
              "Data that joins a queue of more than `above` bytes is marked, as by the built-in step.\n",
    .parameters = parameters,
    .parameter_count = 1,
    .on_enqueue = on_enqueue,
};

const struct fanin_policy *fanin_discipline(void) { return &step_mark; }
