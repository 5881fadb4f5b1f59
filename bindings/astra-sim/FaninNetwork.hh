// ASTRA-sim's network on Fanin: what AstraNetworkAPI asks, over the five calls of fanin.h.
//
// Messages of a (sender, receiver, tag) are matched by bytes, first in first out, as ASTRA-sim's other packet-level
// networks do: one receive may take several sends, and several receives one send. Bytes are counted in 64 bits. A send
// ends when its last ACK is back, a receive when it is posted and its bytes have arrived.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "fanin.h"

namespace AstraSimFanin {

/// What ASTRA-sim wants to have called.
struct Handler {
    void (*function)(void*);
    void* argument;

    /// The argument may be null: collectives pass it so.
    void call() const {
        if (function != nullptr) {
            function(argument);
        }
    }
};

/// When the two ends of a message learn that it has arrived.
struct Ends {
    /// Whether a receiver gets a message only when its sender learns of the arrival, after the sender's handler, as in
    /// ASTRA-sim's ns-3 network.
    bool receive_when_acked = false;
    /// Whether a send ends as its message arrives, as in ASTRA-sim's analytical network.
    bool send_when_arrived = false;
};

/// The network that all ranks share: messages by number, what waits for them, and handlers to call later.
class Network {
  public:
    /// Opens the network of a file, with changes as for fanin_open. Throws std::runtime_error.
    Network(const std::string& file, const std::string& changes, Ends ends)
        : net(fanin_open(FANIN_VERSION, file.c_str(), changes.c_str())), ends(ends) {
        if (net->problem != nullptr) {
            const std::string problem = net->problem;
            fanin_close(net, nullptr);
            throw std::runtime_error(problem);
        }
    }

    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    ~Network() {
        fanin_close(net, nullptr);
    }

    uint32_t hosts() const {
        return net->hosts;
    }

    /// Now, in picoseconds.
    uint64_t now() const {
        return net->now;
    }

    /// Messages that have arrived so far.
    uint64_t arrived() const {
        return arrivals;
    }

    void send(int from, int to, int tag, uint64_t bytes, Handler sent) {
        // A message without payload is still a packet.
        bytes = bytes > 0 ? bytes : 1;
        messages.push_back({{from, to, tag}, bytes, sent});
        const auto number = static_cast<uint32_t>(messages.size() - 1);
        if (from == to) {
            later(0, [this, number] {
                acked(number);
                arrive(number);
            });
            return;
        }
        check(fanin_post(net, static_cast<uint32_t>(from), static_cast<uint32_t>(to), bytes, number));
    }

    void receive(int from, int to, int tag, uint64_t bytes, Handler received) {
        const Key key{from, to, tag};
        auto& box = boxes[key];
        box.receives.push_back({bytes > 0 ? bytes : 1, received});
        match(key);
    }

    /// Calls a handler after so many picoseconds; after none at this instant, when the network has done all of it.
    void later(uint64_t ps, std::function<void()> handler) {
        if (free.empty()) {
            free.push_back(wakes.size());
            wakes.emplace_back();
        }
        check(fanin_wake(net, net->now + ps, free.back()));
        wakes[free.back()] = std::move(handler);
        free.pop_back();
    }

    /// Runs the next instant at which something happens. Returns false if nothing ever will.
    bool step() {
        fanin_event events[256];
        const long count = fanin_next(net, events, 256);
        check(count < 0 ? -1 : 0);
        for (long at = 0; at < count; at++) {
            const auto number = static_cast<uint32_t>(events[at].id);
            switch (events[at].kind) {
            case FANIN_ARRIVED:
                if (ends.send_when_arrived) {
                    acked(number);
                }
                if (!ends.receive_when_acked) {
                    arrive(number);
                }
                break;
            case FANIN_ACKED:
                if (!ends.send_when_arrived) {
                    acked(number);
                }
                if (ends.receive_when_acked) {
                    arrive(number);
                }
                break;
            default:
                free.push_back(events[at].id);
                // It may want to be called later again.
                std::exchange(wakes[events[at].id], nullptr)();
            }
        }
        return count > 0;
    }

    /// Ends the run and writes its folder. Throws std::runtime_error.
    void write(const std::string& folder) {
        if (fanin_close(net, folder.c_str()) != 0) {
            throw std::runtime_error(net->problem);
        }
        net = nullptr;
    }

    /// Receives for which no bytes have come, in words; empty if there are none.
    std::string waiting() const {
        std::string text;
        for (const auto& [key, box] : boxes) {
            for (const auto& receive : box.receives) {
                const auto& [from, to, tag] = key;
                text += "rank " + std::to_string(to) + " waits for " + std::to_string(receive.bytes) +
                        " bytes from rank " + std::to_string(from) + " with tag " + std::to_string(tag) + "\n";
                if (text.size() > 4000) {
                    return text + "and others\n";
                }
            }
        }
        return text;
    }

  private:
    /// Sender, receiver and tag.
    using Key = std::tuple<int, int, int>;

    struct Message {
        Key key;
        uint64_t bytes;
        Handler sent;
    };

    struct Receive {
        uint64_t bytes;
        Handler received;
    };

    /// What has arrived under a key and was not asked for, and who waits.
    struct Box {
        uint64_t bytes = 0;
        std::deque<Receive> receives;
    };

    void check(int result) const {
        if (result != 0) {
            throw std::runtime_error(net->problem);
        }
    }

    void acked(uint32_t number) {
        // The handler may send, which moves the messages.
        const Handler sent = messages[number].sent;
        sent.call();
    }

    void arrive(uint32_t number) {
        const Key key = messages[number].key;
        arrivals++;
        boxes[key].bytes += messages[number].bytes;
        match(key);
    }

    void match(const Key& key) {
        for (auto box = boxes.find(key); box != boxes.end(); box = boxes.find(key)) {
            auto& [bytes, receives] = box->second;
            if (receives.empty() || receives.front().bytes > bytes) {
                if (receives.empty() && bytes == 0) {
                    boxes.erase(box);
                }
                return;
            }
            const Receive first = receives.front();
            receives.pop_front();
            bytes -= first.bytes;
            // It may receive and send, also under this key.
            first.received.call();
        }
    }

    fanin* net;
    Ends ends;
    std::vector<Message> messages;
    std::map<Key, Box> boxes;
    /// What is to be called by name, and names that are free.
    std::vector<std::function<void()>> wakes;
    std::vector<uint64_t> free;
    uint64_t arrivals = 0;
};

/// The network as one rank sees it.
class FaninNetwork final : public AstraSim::AstraNetworkAPI {
  public:
    FaninNetwork(int rank, Network& network, std::function<void(int)> finished)
        : AstraNetworkAPI(rank), network(network), finished(std::move(finished)) {}

    int sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        network.send(rank, dst, tag, count, {handler, argument});
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        network.receive(src, rank, tag, count, {handler, argument});
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*handler)(void*), void* argument) override {
        // ASTRA-sim always means nanoseconds.
        const auto ps = delta.time_val > 0 ? static_cast<uint64_t>(delta.time_val * 1000 + 0.5L) : 0;
        network.later(ps, [handler, argument] { handler(argument); });
    }

    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<long double>(network.now()) / 1000};
    }

    void sim_notify_finished() override {
        finished(rank);
    }

  private:
    Network& network;
    std::function<void(int)> finished;
};

}  // namespace AstraSimFanin
