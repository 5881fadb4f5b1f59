/*
 * fixed-window in C: a constant number of packets in flight. The same as the built-in scheme of that name, packet for
 * packet, and so the smallest example of a scheme of one's own.
 *
 *   cc -O2 -shared -fPIC -I crates/own/include -o libfixed_window.so examples/own/fixed_window.c
 *   fanin run examples/incast.toml --scheme ./libfixed_window.so
 */
#include "fanin_scheme.h"

/* The numbers of the parameters in the table below. */
enum { PACKETS };

static const fanin_parameter parameters[] = {
    {"packets", "full-size packets in flight", 50, 1, 1e6, FANIN_INTEGER},
};

/* What a flow remembers between two hooks. Fanin allocates it and fills it with zeros. */
struct flow {
    uint64_t acked_to;
};

static void open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    (void)me;
    /* A packet may leave while fewer bytes are in flight. The rate stays what it is at the start, the line rate. */
    control->window = (uint64_t)cx->parameters[PACKETS].integer * path->payload;
}

static uint32_t on_send(void *me, fanin_control *control, const fanin_sent *sent, fanin_cx *cx) {
    const struct flow *flow = me;
    uint64_t in_flight = sent->sent_to > flow->acked_to ? sent->sent_to - flow->acked_to : 0;
    if (in_flight >= control->window) fanin_count(cx, FANIN_WINDOW_LIMITED);
    return 0;
}

static void on_ack(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx) {
    struct flow *flow = me;
    (void)control, (void)cx;
    flow->acked_to = ack->acked_to;
}

static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof scheme,
    .id = "fixed-window-c",
    .manual = "A constant number of packets in flight.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .sender = {.size = sizeof(struct flow), .open = open, .on_send = on_send, .on_ack = on_ack},
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
