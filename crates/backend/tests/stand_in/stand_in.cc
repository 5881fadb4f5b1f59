// A stand-in for ASTRA-sim: it calls its network as ASTRA-sim does, and prints what happens when.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "FaninNetwork.hh"

using AstraSimFanin::FaninNetwork;

namespace {

FaninNetwork* ranks[3];
int finished = 0;

/// Calls back once.
void* once(std::function<void()> what) {
    return new std::function<void()>(std::move(what));
}

void called(void* argument) {
    // Collectives pass nothing.
    if (argument == nullptr) {
        std::printf("called without an argument\n");
        return;
    }
    auto* what = static_cast<std::function<void()>*>(argument);
    (*what)();
    delete what;
}

void say(const char* what) {
    std::printf("%.3Lf %s\n", ranks[0]->sim_get_time().time_val, what);
}

void send(int from, int to, int tag, uint64_t bytes, std::function<void()> then) {
    ranks[from]->sim_send(nullptr, bytes, 0, to, tag, nullptr, called, once(std::move(then)));
}

void receive(int at, int from, int tag, uint64_t bytes, std::function<void()> then) {
    ranks[at]->sim_recv(nullptr, bytes, 0, from, tag, nullptr, called, once(std::move(then)));
}

void after(long double ns, std::function<void()> then) {
    ranks[0]->sim_schedule({AstraSim::NS, ns}, called, once(std::move(then)));
}

void finish(int) {
    finished++;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    AstraSimFanin::Ends ends;
    ends.receive_when_acked = std::strcmp(argv[2], "sender-ack") == 0;
    ends.send_when_arrived = std::strcmp(argv[2], "arrived") == 0;
    try {
        AstraSimFanin::Network network(argv[1], "", ends);
        for (int rank = 0; rank < 3; rank++) {
            ranks[rank] = new FaninNetwork(rank, network, finish);
        }
        // Delays of nothing, one from within another, in order.
        after(0, [] {
            say("first");
            after(0, [] { say("third"); });
        });
        after(0, [] { say("second"); });
        // A receive before its data, whose handler answers at once.
        receive(1, 0, 5, 4000, [] {
            say("1 has 4000 bytes");
            send(1, 0, 6, 100, [] { say("1 knows that 0 has the answer"); });
        });
        send(0, 1, 5, 4000, [] { say("0 knows that 1 has 4000 bytes"); });
        // A receive long after its data, and after the run had nothing left to do but to wait for it.
        after(1e6L, [] {
            receive(0, 1, 6, 100, [] { say("0 asks for the answer, and has it"); });
            // Two sends for one receive, and two receives for one send.
            receive(2, 0, 7, 3000, [] { say("2 has both"); });
            send(0, 2, 7, 1000, [] {});
            send(0, 2, 7, 2000, [] {
                receive(1, 2, 8, 10, [] { say("1 has the first part"); });
                receive(1, 2, 8, 20, [] {
                    say("1 has the second part");
                    ranks[1]->sim_notify_finished();
                });
                send(2, 1, 8, 30, [] {});
            });
            // A rendezvous: a request, and then the data, under tags of their own.
            receive(1, 0, 1000000001, 8192, [] {
                say("1 has the request");
                receive(1, 0, 500000001, 5000000000, [] {
                    say("1 has 5 GB");
                    ranks[0]->sim_notify_finished();
                });
                send(0, 1, 500000001, 5000000000, [] {});
            });
            send(0, 1, 1000000001, 8192, [] {});
            // Without a handler's argument, without payload, and to itself.
            ranks[2]->sim_send(nullptr, 0, 0, 2, 9, nullptr, called, nullptr);
            receive(2, 2, 9, 0, [] {
                say("2 has its own");
                ranks[2]->sim_notify_finished();
            });
        });
        while (network.step()) {
        }
        std::printf("%d ranks have finished; %s\n", finished,
                    network.waiting().empty() ? "nobody waits" : network.waiting().c_str());
        receive(1, 0, 77, 10, [] {});
        std::printf("%s", network.waiting().c_str());
        // A message to a rank without a host.
        ranks[0]->sim_send(nullptr, 1, 0, 99, 1, nullptr, called, nullptr);
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 0;
    }
    return 1;
}
