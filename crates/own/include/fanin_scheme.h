/*
 * Congestion control, load balancing and queue disciplines of your own, in a shared library: docs/own-scheme-c.md.
 * The library exports one or more of the functions at the end. `fanin_scheme` describes a scheme of congestion control:
 * its parameters, and functions ("hooks") of up to three roles: `sender`, one per flow, says how much the flow may
 * send; `receiver`, one per host, holds ACKs back, puts fields on them, sends CNPs and credits; `switch_program`, one
 * per switch, routes, marks and drops packets and measures queues. `fanin_balancer` and `fanin_discipline` describe a
 * policy of the whole network, which runs per switch and goes with every scheme; `fanin_selector` one that runs per
 * sender of RDMA and chooses the path of each of its packets, by a number in it that switches hash.
 * Units: times are picoseconds since the start of the run, rates are bit/s, sizes are bytes. Yes and no are 1 and 0.
 * Every hook may be NULL where its comment does not call it required: then what it calls the default happens.
 * State (`me`) is allocated by Fanin, zeroed and aligned to 16 bytes, and freed without notice: keep no other memory.
 * Threads: hooks of different flows, hosts and switches run at the same time, so a library must not write to variables
 * of its own. Arguments are valid during the call alone.
 */
#ifndef FANIN_SCHEME_H
#define FANIN_SCHEME_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define FANIN_SCHEME_VERSION 3u
#define FANIN_NEVER UINT64_MAX     /* no time: a timer that is not set */
#define FANIN_NO_WINDOW UINT64_MAX /* any number of bytes may be in flight */
#define FANIN_EXPORT __attribute__((visibility("default")))
/* What a scheme may count with fanin_count(). Results have the same names, in lower case. */
enum fanin_action {
    FANIN_CUTS, FANIN_INCREASES, FANIN_MARKS_SEEN, FANIN_CNPS_SENT, FANIN_CNPS_RECEIVED, FANIN_WINDOW_LIMITED,
    FANIN_LOSS_REACTIONS, FANIN_ACKS_HELD, FANIN_CREDITS_SENT, FANIN_CREDIT_REQUESTS, FANIN_CREDIT_STOPS,
    FANIN_CREDITS_WASTED, FANIN_FAST_RECOVERY_STEPS, FANIN_ADDITIVE_INCREASE_STEPS, FANIN_HYPER_INCREASE_STEPS,
    FANIN_TIMEOUT_REACTIONS, FANIN_IDLE_RESTARTS, FANIN_MARKED_WINDOWS, FANIN_ECHO_FLIPS,
    FANIN_REFERENCE_UPDATES = 41, FANIN_PATH_CHANGES, FANIN_ACTIONS
};

typedef union { double number; int64_t integer; } fanin_value; /* of a parameter; a boolean is an integer, 0 or 1 */
typedef struct { /* the context of a hook */
    uint64_t now;
    const fanin_value *parameters; /* in the order of the scheme's table of parameters */
    void *shared;                  /* sender: the state that it shares with other flows; otherwise NULL */
    uint64_t *counts;              /* see fanin_count(); what a policy counts is not kept */
    const char *problem;           /* set it to a sentence to end the run with that error */
    uint64_t wake_at;              /* receiver and switch: the next on_timer, which then finds FANIN_NEVER here */
    uint32_t shared_changed;       /* sender: whether its change of `shared` changes the control of other flows */
} fanin_cx;

static inline void fanin_count(fanin_cx *cx, enum fanin_action action) {
    if ((unsigned)action < FANIN_ACTIONS) cx->counts[action]++;
}
typedef struct { const char *name; double value; } fanin_watched; /* state that `watch` reports, for pictures */

/* How much a flow may send. The sender's hooks change it; it stays until the next change. */
typedef struct {
    uint64_t window;     /* bytes that may be in flight; at the start FANIN_NO_WINDOW */
    uint64_t rate;       /* pacing; at the start the line rate, which is no pacing; 0 stops the flow */
    uint64_t wake_at;    /* the next on_timer, which then finds FANIN_NEVER here */
    uint64_t not_before; /* nothing leaves before this time; at the start 0 */
    uint32_t retime;     /* whether a new rate also moves a packet that already waits for its time */
} fanin_control;
typedef struct { /* the path of a flow when it opens */
    uint64_t line_rate, receiver_rate, base_rtt; /* own NIC's; receiver's, by feedback; RTT of a full packet, idle */
    uint64_t network_bdp, network_rtt; /* largest bandwidth-delay product, and base_rtt, of any pair of hosts */
    uint32_t payload, wire;       /* largest payload of a packet; bytes on the wire of such a packet */
    uint32_t id, from, to;        /* number of its first message in the run; the hosts; UINT32_MAX if unknown */
} fanin_path;
typedef struct { /* a data packet that left */
    uint64_t sent_to, left; /* the next byte to send; payload bytes posted behind it and not sent yet, RDMA only */
    uint32_t wire, payload, retransmitted; /* bytes on the wire, and of payload; whether it was sent before */
} fanin_sent;
/* Telemetry of a switch on the way: rate of the link, when the packet left, bytes sent before it, bytes queued behind. */
typedef struct { uint64_t rate, time, sent, queued; } fanin_hop;
typedef struct { /* an acknowledgement */
    uint64_t newly_acked, acked_to, sent_to; /* new payload bytes; all before acked_to has arrived; next to send */
    uint64_t seq;               /* the number in the ACK: less than acked_to if a later ACK has overtaken this one */
    uint64_t in_flight, burst;  /* bytes in flight just before; bytes ready for the NIC at once (offload), or 0 */
    uint64_t rtt;               /* since the data packet that it answers left */
    const fanin_hop *hops;      /* with `telemetry` in fanin_scheme: hop_count records, first switch first */
    uint32_t hop_count, path;   /* at most 5; XOR of the ids of the switches on the way, 12 bits each */
    uint32_t recovering;        /* whether a loss is being repaired, so that the window must not change */
    uint32_t ecn_echo, cc_feedback; /* whether it echoes a congestion mark; the number that the receiver put there */
} fanin_ack;
typedef struct { /* a loss that the endpoint found */
    uint64_t from, sent_to, in_flight; /* first byte missing; next byte to send, and bytes in flight, at that time */
    uint32_t retransmitted;            /* whether a timeout had found this very byte lost before */
} fanin_loss;
typedef struct { /* a packet whose payload a switch cut */
    uint64_t from, sent_to, in_flight, rtt; /* as in fanin_loss, this packet included; since it left, or FANIN_NEVER */
    uint32_t payload, wire, last_hop; /* bytes that it had; whether it was cut in front of the receiver's own link */
} fanin_trim;
enum { FANIN_CNP = 1, FANIN_CREDIT = 2 };
typedef struct { uint32_t kind, number; } fanin_notice; /* FANIN_CNP, or FANIN_CREDIT with the credit's number */
typedef struct {
    uint64_t size; /* of the state of a flow, `me` */
    void (*open)(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx); /* required */
    /* A packet left. The result is its cc_tag; default 0. */
    uint32_t (*on_send)(void *me, fanin_control *control, const fanin_sent *sent, fanin_cx *cx);
    void (*on_ack)(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx);
    void (*on_notice)(void *me, fanin_control *control, const fanin_notice *notice, fanin_cx *cx);
    void (*on_loss)(void *me, fanin_control *control, const fanin_loss *loss, fanin_cx *cx);
    void (*on_timeout)(void *me, fanin_control *control, const fanin_loss *loss, fanin_cx *cx);
    void (*on_trim)(void *me, fanin_control *control, const fanin_trim *trim, fanin_cx *cx); /* default on_loss */
    void (*on_idle)(void *me, fanin_control *control, fanin_cx *cx); /* all that was posted is acknowledged */
    void (*on_timer)(void *me, fanin_control *control, fanin_cx *cx);
    /* Whether to send a request now, with *cc_tag; `left` bytes are posted and not sent. Called until it is 0 when data
       is posted, after on_timer, on_loss, on_timeout, on_trim and a credit. RDMA only; default 0. */
    uint32_t (*poll_request)(void *me, fanin_control *control, uint64_t left, uint32_t *cc_tag, fanin_cx *cx);
    /* Fills in the value of this number, counted from 0; the result is 0 if there is none. */
    uint32_t (*watch)(const void *me, uint32_t number, fanin_watched *value);
    void (*close)(void *me, fanin_control *control, fanin_cx *cx);
} fanin_sender;
typedef struct { uint64_t line_rate, network_rtt, seed; uint32_t payload, wire; } fanin_nic; /* as in fanin_path */
/* A flow that opens towards this host: bytes it will carry, 0 if unknown; its number at the receiver; the number of its
   first message in the run; the sending host. */
typedef struct { uint64_t size; uint32_t flow, id, from; } fanin_flow;
typedef struct { /* a message whose first packet arrived */
    uint32_t flow, id, from, tenant, weight;
    uint32_t incast, sender_count; const uint32_t *senders; /* the incast that it announces; NULL if none */
} fanin_message;
typedef struct { /* a data packet, or a request */
    uint64_t seq, acked_to, received;  /* first byte; number of an ACK sent now; bytes that entered this host so far */
    uint32_t flow, from, wire, payload; /* its flow; the sending host; bytes on the wire, and of payload */
    uint32_t ce, start, end, in_order; /* whether it is marked, the first or last of a message, the one expected */
    uint32_t ack_due, pending, due_alone; /* whether an ACK is due; earlier packets wait for one; due after that one */
    uint32_t cc_tag, cc_feedback;      /* what the sender wrote; what switches wrote, 0 if none did */
} fanin_data;
typedef struct { /* fields of an ACK */
    uint32_t ecn_echo, push;     /* echo a congestion mark; ask the sender to recover at once */
    uint32_t has_window, window, cc_feedback; /* TCP: limit in bytes behind the ACK's number; one number for the sender */
} fanin_ack_fields;
typedef struct { uint32_t send_before, send_now; fanin_ack_fields before, now; } fanin_ack_plan;
enum { FANIN_EMIT_ACK = 1, FANIN_EMIT_CNP = 2, FANIN_EMIT_CREDIT = 3 };
typedef struct {
    uint32_t kind, flow, number, wire; /* one of the three; for it; of a credit: what data carries back, and its bytes */
    fanin_ack_fields fields; /* of an ACK; it covers everything that has arrived by now */
} fanin_emit;
typedef struct {
    uint64_t host_size, flow_size; /* of the state of a host, `me`, and of each flow into it, `flow` */
    void (*open)(void *me, const fanin_nic *nic, fanin_cx *cx); /* a host comes up; what it counts is not kept */
    void (*on_open)(void *me, void *flow, const fanin_flow *info, fanin_cx *cx);
    /* A TCP connection's SYN arrived; 0 holds the SYN-ACK back. Default: it goes, with the fields of ack_fields. */
    uint32_t (*on_syn)(void *me, void *flow, uint32_t number, fanin_ack_fields *fields, fanin_cx *cx);
    void (*on_message_start)(void *me, void *flow, const fanin_message *message, fanin_cx *cx);
    void (*on_message_end)(void *me, void *flow, uint32_t number, uint32_t id, fanin_cx *cx);
    /* Data arrived. *plan holds the default: send_now as ack_due, and the echo of the packet's mark. `before` is an ACK
       for everything that arrived before this packet. */
    void (*on_data)(void *me, void *flow, const fanin_data *data, fanin_ack_plan *plan, fanin_cx *cx);
    /* A request arrived. 1 answers it with an ACK; default 0. RDMA only. */
    uint32_t (*on_request)(void *me, void *flow, const fanin_data *request, fanin_ack_fields *fields, fanin_cx *cx);
    void (*on_trim)(void *me, void *flow, const fanin_data *data, fanin_cx *cx); /* the header of a cut packet */
    /* The fields of an ACK that on_data did not plan: a delayed one, one on data. Default all 0. */
    void (*ack_fields)(void *me, void *flow, uint32_t number, fanin_ack_fields *fields, fanin_cx *cx);
    void (*on_fin)(void *me, void *flow, uint32_t number, fanin_cx *cx); /* TCP: the sender has sent everything */
    void (*on_close)(void *me, void *flow, uint32_t number, fanin_cx *cx);
    void (*on_timer)(void *me, uint64_t received, fanin_cx *cx); /* received as in fanin_data */
    /* The next packet to send; 0, the default, for none. Called after every hook until it is 0. */
    uint32_t (*poll_transmit)(void *me, fanin_emit *emit, fanin_cx *cx);
    uint32_t (*watch)(const void *me, uint32_t number, fanin_watched *value);
} fanin_receiver;
typedef struct { /* a port of a switch */
    uint64_t rate, queued;      /* of its link; bytes queued there in classes of data */
    uint64_t of_class;          /* in route and in disciplines: bytes in the packet's class; otherwise 0 */
    uint32_t to_switch, up, paused; /* other end is a switch; link is up; in these: that class must not be sent */
} fanin_port;
typedef struct fanin_ports { /* the ports of a switch, numbered from 0: ports->view(ports, port, &answer) */
    void (*view)(const struct fanin_ports *ports, uint32_t port, fanin_port *answer); const void *of; uint32_t count;
} fanin_ports;
/* A switch that comes up; the seed is that of its own random numbers, node its number in the network. */
typedef struct { const fanin_port *ports; uint64_t network_rtt, seed; uint32_t port_count, node; } fanin_switch_info;
typedef struct { /* a packet at a switch */
    uint64_t seq, sent_at;        /* first byte, or next byte expected; when the data left its sender */
    uint32_t flow, from, to;      /* the message's number in the run, the sending host, the receiving host */
    uint32_t cc_tag, cc_feedback; /* fields of the scheme: a hook may change both */
    uint32_t ce, ecn;             /* whether it carries a congestion mark: a hook may set it; whether it may */
    uint32_t wire, payload, hops; /* bytes on the wire, and of payload; links crossed so far */
    uint32_t kind, service_class; /* 0 data, 1 ACK, 2 NACK, 3 CNP, 4 credit, 5 pause, 6 request, 7 flow control, 8 cut */
} fanin_packet;
typedef struct { fanin_port view; uint32_t port, own; } fanin_queue; /* own: data or request of this scheme */
enum { FANIN_ADMIT = 0, FANIN_MARK = 1, FANIN_DROP = 2, FANIN_TRIM = 3 }; /* without network.trimming TRIM drops */
typedef struct {
    uint64_t size; /* of the state of a switch, `me` */
    void (*open)(void *me, const fanin_switch_info *info, fanin_cx *cx); /* what it counts is not kept */
    /* Data of this scheme came in at port `in`. The result is the port where it leaves; default `minimal`. */
    uint32_t (*route)(void *me, fanin_packet *packet, uint32_t in, uint32_t minimal, const fanin_ports *ports,
                      fanin_cx *cx);
    /* A packet of any scheme joins, or leaves, a queue. One of these four; default FANIN_ADMIT. */
    uint32_t (*on_enqueue)(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx);
    void (*on_dequeue)(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx);
    void (*on_drop)(void *me, const fanin_packet *packet, fanin_cx *cx); /* a failure dropped data of this scheme */
    void (*on_link_down)(void *me, uint32_t port, fanin_cx *cx);
    void (*on_timer)(void *me, const fanin_ports *ports, fanin_cx *cx);
    uint32_t (*watch)(const void *me, uint32_t number, fanin_watched *value);
} fanin_switch;
enum { FANIN_NUMBER = 0, FANIN_INTEGER = 1, FANIN_BOOLEAN = 2, FANIN_RDMA = 0, FANIN_TCP = 1 };
enum { FANIN_SHARE_NOTHING = 0, FANIN_SHARE_PAIR = 1, FANIN_SHARE_HOST = 2 };
typedef struct {
    const char *name, *doc; /* a key of the spec: a-z, 0-9 and _; what it means, with its unit */
    double initial, smallest, largest; uint32_t kind; /* FANIN_NUMBER, FANIN_INTEGER or FANIN_BOOLEAN */
} fanin_parameter;
struct fanin_scheme {
    uint32_t version, struct_size; /* FANIN_SCHEME_VERSION, and sizeof(struct fanin_scheme) */
    const char *id, *manual;       /* its name in specs: a-z, 0-9 and -, like "my-scheme"; Markdown, or NULL */
    const fanin_parameter *parameters;
    const char *(*check)(const fanin_value *parameters); /* what is wrong with their combination; NULL if nothing is */
    uint32_t parameter_count, transport; /* FANIN_RDMA or FANIN_TCP: what carries it unless the spec says otherwise */
    uint32_t no_ecn, needs_marks;  /* its packets are never marked; marks are what it slows down by */
    uint32_t telemetry;            /* switches write telemetry into its data (fanin_ack.hops); RDMA only */
    uint32_t data_header, ack_header; /* bytes that it adds to each data packet, and to each ACK */
    uint32_t holds_acks, acks_once_per_rtt; /* its receiver decides about every ACK, TCP's too; sends one per RTT */
    uint32_t sharing;              /* FANIN_SHARE_...: nothing, or state of flows to the same host, or of all flows */
    uint64_t shared_size;          /* of that state */
    uint32_t credit, credit_burst, credit_limit; /* bytes of a credit, most sent at once, most queued; 0: no credits */
    fanin_sender sender;
    fanin_receiver receiver;
    fanin_switch switch_program;
};
typedef struct { uint64_t rate, queued; uint32_t port, paused; } fanin_choice; /* the latter of the packet's class */
struct fanin_policy {
    uint32_t version, struct_size; const char *id, *manual; const fanin_parameter *parameters; /* as in fanin_scheme */
    const char *(*check)(const fanin_value *parameters); uint32_t parameter_count;
    uint64_t size; /* of the state of a switch, `me` */
    void (*open)(void *me, const fanin_switch_info *info, fanin_cx *cx);
    /* fanin_balancer, required: the index of the choice that a packet takes, of two at least. `hash` is the same for
       all packets of one direction of a flow, at every switch. */
    uint32_t (*choose)(void *me, const fanin_packet *packet, uint32_t hash, const fanin_choice *choices, uint32_t count,
                       fanin_cx *cx);
    /* fanin_discipline, one at least: a packet joins, or leaves, a queue, as in fanin_switch. */
    uint32_t (*on_enqueue)(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx);
    void (*on_dequeue)(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx);
};

/* A sender that begins to choose paths: the seed of its random numbers, `network.paths`, its first message, the hosts. */
typedef struct { uint64_t seed; uint32_t paths, flow, from, to; } fanin_selector_info;
enum { FANIN_GOOD = 0, FANIN_MARKED = 1, FANIN_TRIMMED = 2, FANIN_TIMEOUT = 3 }; /* what became of a packet */
struct fanin_selector { /* as fanin_policy up to `size`, which is of the state of a sender */
    uint32_t version, struct_size; const char *id, *manual; const fanin_parameter *parameters;
    const char *(*check)(const fanin_value *parameters); uint32_t parameter_count; uint64_t size;
    void (*open)(void *me, const fanin_selector_info *info, fanin_cx *cx);
    /* Required: the path, 0 to 65535, of the packet with this number; the congestion window has `window` packets. */
    uint32_t (*next_path)(void *me, uint32_t number, uint64_t window, fanin_cx *cx);
    void (*feedback)(void *me, uint32_t path, uint32_t feedback, fanin_cx *cx); /* of a path; 0 after a timeout */
};
FANIN_EXPORT const struct fanin_scheme *fanin_scheme(void);
FANIN_EXPORT const struct fanin_policy *fanin_balancer(void);
FANIN_EXPORT const struct fanin_selector *fanin_selector(void); /* instead of fanin_balancer */
FANIN_EXPORT const struct fanin_policy *fanin_discipline(void);

#ifdef __cplusplus
}
#endif
#endif
