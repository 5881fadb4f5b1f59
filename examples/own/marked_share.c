/*
 * A scheme with all three roles, in C. Switches mark packets that find a long queue; each receiver measures which share
 * of its bytes is marked, over all flows together, and puts it on every ACK; senders slow down by that share.
 *
 *   cc -O2 -shared -fPIC -I crates/own/include -o libmarked_share.so examples/own/marked_share.c
 *   fanin run examples/incast.toml --scheme ./libmarked_share.so
 */
#include "fanin_scheme.h"

enum { MARK_ABOVE, GAIN, STEP };

static const fanin_parameter parameters[] = {
    {"mark_above", "bytes queued at a port above which a packet is marked", 30000, 0, 1e9, FANIN_INTEGER},
    {"gain", "weight of the newest round-trip time in the share of marked bytes", 0.0625, 0.001, 1, FANIN_NUMBER},
    {"step", "packets by which the window grows in a round-trip time", 1, 0.01, 100, FANIN_NUMBER},
};

/* The share is carried in whole units of 1 / ONE. */
#define ONE 1000000u

/* ---- Sender: grows by `step` packets and shrinks by half of the share, both once per round-trip time. ---- */

struct flow {
    double window;      /* bytes */
    uint32_t payload;   /* of a full packet */
    uint64_t round_end; /* the round-trip time is over when this offset is acknowledged */
};

static void sender_open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    struct flow *flow = me;
    (void)cx;
    /* A bandwidth-delay product, rounded up to a packet: bit/s times picoseconds, in bytes. */
    flow->window = (double)path->line_rate * (double)path->base_rtt / 8e12 + path->payload;
    flow->payload = path->payload;
    control->window = (uint64_t)flow->window;
}

static void sender_on_ack(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx) {
    struct flow *flow = me;
    if (ack->acked_to < flow->round_end) return;
    flow->round_end = ack->sent_to;
    double share = (double)ack->cc_feedback / ONE;
    if (share > 0) fanin_count(cx, FANIN_CUTS);
    flow->window = flow->window * (1 - share / 2) + cx->parameters[STEP].number * flow->payload;
    if (flow->window < flow->payload) flow->window = flow->payload;
    control->window = (uint64_t)flow->window;
}

static uint32_t sender_watch(const void *me, uint32_t number, fanin_watched *value) {
    const struct flow *flow = me;
    if (number > 0) return 0;
    value->name = "packets";
    value->value = flow->window / flow->payload;
    return 1;
}

/* ---- Receiver: one share for all flows into the host, renewed every round-trip time. ---- */

struct host {
    uint64_t bytes, marked, until, rtt;
    double share;
};

static void receiver_open(void *me, const fanin_nic *nic, fanin_cx *cx) {
    struct host *host = me;
    (void)cx;
    host->rtt = nic->network_rtt;
}

static void receiver_on_data(void *me, void *flow, const fanin_data *data, fanin_ack_plan *plan, fanin_cx *cx) {
    struct host *host = me;
    (void)flow;
    if (cx->now >= host->until) {
        double gain = cx->parameters[GAIN].number;
        if (host->bytes > 0) host->share += gain * ((double)host->marked / (double)host->bytes - host->share);
        host->bytes = host->marked = 0;
        host->until = cx->now + host->rtt;
    }
    host->bytes += data->wire;
    if (data->ce) {
        host->marked += data->wire;
        fanin_count(cx, FANIN_MARKS_SEEN);
    }
    plan->now.cc_feedback = (uint32_t)(host->share * ONE);
}

static uint32_t receiver_watch(const void *me, uint32_t number, fanin_watched *value) {
    const struct host *host = me;
    if (number > 0) return 0;
    value->name = "marked_share";
    value->value = host->share;
    return 1;
}

/* ---- Switch: marks by the length of the queue, without any state. ---- */

static uint32_t switch_on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me, (void)packet;
    if (!queue->own) return FANIN_ADMIT;
    return queue->view.queued > (uint64_t)cx->parameters[MARK_ABOVE].integer ? FANIN_MARK : FANIN_ADMIT;
}

static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof scheme,
    .id = "marked-share",
    .manual = "Slows down by the share of marked bytes that the receiver measures over all its flows.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .ack_header = 4, /* the share */
    .sender = {.size = sizeof(struct flow),
               .open = sender_open,
               .on_ack = sender_on_ack,
               .watch = sender_watch},
    .receiver = {.host_size = sizeof(struct host),
                 .open = receiver_open,
                 .on_data = receiver_on_data,
                 .watch = receiver_watch},
    .switch_program = {.on_enqueue = switch_on_enqueue},
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
