/*
 * my-scheme: a window that grows by a packet per round-trip time and is cut where the network marks packets.
 *
 * Build it with make. What hooks get and may set is in fanin_scheme.h, which also has the roles that are left out here:
 * a receiver, and a program for switches. Keep state in a flow's own struct alone, never in variables of this file.
 */
#include "fanin_scheme.h"

/* Keys of the spec: scheme = { id = "my-scheme", cut = 0.7 } */
enum { CUT, INCREASE };
static const fanin_parameter parameters[] = {
    /* name, meaning, default, smallest, largest, kind */
    {"cut", "factor of the window at a congestion mark", 0.5, 0.01, 0.99, FANIN_NUMBER},
    {"increase", "packets that the window grows by per round-trip time", 1, 1, 1000, FANIN_INTEGER},
};

/* A flow at its sender; zeroed when it opens. */
struct flow {
    double allowed; /* the window, with the part of a byte that it has grown */
    double largest;
    uint64_t packet;
    uint64_t cut_until; /* no second cut before this offset is acknowledged */
};

/* Sets the window: at least a packet, at most a bandwidth-delay product. */
static void allow(struct flow *flow, fanin_control *control, double size) {
    double least = (double)flow->packet;
    flow->allowed = size < least ? least : size > flow->largest ? flow->largest : size;
    control->window = (uint64_t)flow->allowed;
}

/* The flow opens: a bandwidth-delay product in flight, at line rate, which is no pacing. */
static void on_open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    struct flow *flow = me;
    (void)cx;
    flow->packet = path->payload;
    flow->largest = (double)(path->network_bdp > path->payload ? path->network_bdp : path->payload);
    allow(flow, control, flow->largest);
}

/* An ACK arrived. It echoes whether a switch marked its packet, and has the round-trip time ack->rtt. */
static void on_ack(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx) {
    struct flow *flow = me;
    if (!ack->ecn_echo) {
        double packets = (double)cx->parameters[INCREASE].integer * (double)flow->packet;
        allow(flow, control, flow->allowed + packets * (double)ack->newly_acked / flow->allowed);
    } else if (ack->acked_to > flow->cut_until || flow->cut_until == 0) {
        /* Once per window of data: not again before what is in flight now has been acknowledged. */
        flow->cut_until = ack->sent_to;
        allow(flow, control, flow->allowed * cx->parameters[CUT].number);
        fanin_count(cx, FANIN_CUTS); /* results have this count */
    }
}

/* The retransmission timer ran out, and all in flight is sent again: a packet at first. */
static void on_timeout(void *me, fanin_control *control, const fanin_loss *loss, fanin_cx *cx) {
    struct flow *flow = me;
    (void)cx;
    flow->cut_until = loss->sent_to;
    allow(flow, control, (double)flow->packet);
}

/* State that a run can show over time, beside window and rate. */
static uint32_t watch(const void *me, uint32_t number, fanin_watched *value) {
    const struct flow *flow = me;
    if (number > 0) return 0;
    value->name = "packets_in_window";
    value->value = flow->allowed / (double)flow->packet;
    return 1;
}

static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof scheme,
    .id = "my-scheme",
    .manual = "A window that grows by a packet per round-trip time and is cut where the network marks packets.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs_marks = 1,
    .sender = {
        .size = sizeof(struct flow),
        .open = on_open,
        .on_ack = on_ack,
        .on_timeout = on_timeout,
        .watch = watch,
    },
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
