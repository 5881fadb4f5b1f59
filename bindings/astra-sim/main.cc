// ASTRA-sim on Fanin: the program. It takes the options of ASTRA-sim's other networks, and those that begin with fanin.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "FaninNetwork.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

using AstraSimFanin::FaninNetwork;
using AstraSimFanin::Network;

namespace {

const char* const USAGE = R"(ASTRA-sim on Fanin

Options, as ASTRA-sim's other networks take them (--name=value or --name value):
  --workload-configuration PREFIX       execution traces PREFIX.RANK.et
  --system-configuration FILE           collectives and the like (JSON)
  --remote-memory-configuration FILE    remote memory (JSON)
  --network-configuration FILE          a spec of Fanin (.toml), a config.txt of ns-3, or a topology: ASTRA-sim's YAML,
                                        of SimAI, of ns-3, of htsim
  --logical-topology-configuration FILE {"logical-dims": ["8", "2"]}; otherwise npus_count of the YAML, or all hosts
  --comm-group-configuration FILE  --logging-configuration FILE  --logging-folder DIR
  --num-queues-per-dim N  --comm-scale X  --injection-scale X  --rendezvous-protocol BOOL
Of Fanin:
  --fanin-scheme NAME       congestion control of all messages; default: that of the spec, or none
  --fanin-set KEY=VALUE     changes a key of the spec, as `fanin run --set`; may be repeated
  --fanin-seed N            another seed
  --fanin-folder DIR        writes the tables of the run there, for `fanin report DIR`
  --fanin-arrival receiver | sender-ack   when a receive ends: as the last byte arrives (default), or as its sender
                            learns of it, which is what the ns-3 network does
  --fanin-send-done acked | arrived       when a send ends: with its last ACK (default), or as its last byte arrives,
                            which is what the analytical network does
)";

/// The options by name, with their defaults.
class Options {
  public:
    Options(int argc, char** argv) {
        for (int at = 1; at < argc; at++) {
            std::string name = argv[at];
            if (name == "--help" || name == "-h") {
                std::cout << USAGE;
                std::exit(0);
            }
            const auto equals = name.find('=');
            std::string value;
            if (equals != std::string::npos) {
                value = name.substr(equals + 1);
                name.resize(equals);
            } else if (at + 1 < argc) {
                value = argv[++at];
            } else {
                throw std::runtime_error(name + ": a value is missing; write " + name + "=VALUE");
            }
            if (name == "--fanin-set") {
                changes += value + "\n";
            } else if (name == "--fanin-scheme" || name == "--fanin-seed") {
                changes += name.substr(8) + "=" + value + "\n";
            } else if (auto known = values.find(name); known != values.end()) {
                known->second = value;
            } else {
                throw std::runtime_error(name + ": there is no such option; --help lists them");
            }
        }
    }

    const std::string& text(const std::string& name) const {
        return values.at(name);
    }

    /// An option that must be given.
    const std::string& given(const std::string& name) const {
        if (text(name).empty()) {
            throw std::runtime_error(name + ": this option is missing; --help says what it is");
        }
        return text(name);
    }

    double number(const std::string& name) const {
        try {
            size_t end = 0;
            const double value = std::stod(text(name), &end);
            if (end == text(name).size()) {
                return value;
            }
        } catch (const std::logic_error&) {
        }
        throw std::runtime_error(name + "=" + text(name) + ": this is no number");
    }

    /// Whether it has the second of two values.
    bool second(const std::string& name, const std::string& first, const std::string& second) const {
        if (text(name) != first && text(name) != second) {
            throw std::runtime_error(name + "=" + text(name) + ": write " + first + " or " + second);
        }
        return text(name) == second;
    }

    std::string changes;

  private:
    std::map<std::string, std::string> values = {
        {"--workload-configuration", ""},
        {"--system-configuration", ""},
        {"--remote-memory-configuration", ""},
        {"--network-configuration", ""},
        {"--logical-topology-configuration", ""},
        {"--comm-group-configuration", "empty"},
        {"--logging-configuration", "empty"},
        {"--logging-folder", "log"},
        {"--num-queues-per-dim", "1"},
        {"--comm-scale", "1"},
        {"--injection-scale", "1"},
        {"--rendezvous-protocol", "false"},
        {"--fanin-folder", ""},
        {"--fanin-arrival", "receiver"},
        {"--fanin-send-done", "acked"},
    };
};

/// The whole numbers in the brackets after a word of a file; none if it has no such word.
std::vector<int> list_after(const std::string& file, const std::string& word) {
    std::ifstream in(file);
    if (!in) {
        throw std::runtime_error(file + ": cannot be read");
    }
    std::stringstream whole;
    whole << in.rdbuf();
    const std::string text = whole.str();
    const auto from = text.find(word);
    const auto open = from == std::string::npos ? from : text.find('[', from);
    const auto close = open == std::string::npos ? open : text.find(']', open);
    std::vector<int> found;
    if (close != std::string::npos) {
        std::string digits;
        for (auto at = open; at <= close; at++) {
            if (text[at] >= '0' && text[at] <= '9') {
                digits += text[at];
            } else if (!digits.empty()) {
                if (digits.size() > 9) {
                    throw std::runtime_error(file + ": " + word + " has " + digits + ", which is too large");
                }
                found.push_back(std::stoi(digits));
                digits.clear();
            }
        }
    }
    return found;
}

/// The ranks of each dimension of the logical topology.
std::vector<int> dimensions(const Options& options, uint32_t hosts) {
    const auto& logical = options.text("--logical-topology-configuration");
    const auto& network = options.text("--network-configuration");
    const bool yaml = network.rfind(".yml") != std::string::npos || network.rfind(".yaml") != std::string::npos;
    std::vector<int> found;
    if (!logical.empty()) {
        found = list_after(logical, "logical-dims");
        if (found.empty()) {
            throw std::runtime_error(logical + ": it has no list logical-dims");
        }
    } else if (yaml) {
        found = list_after(network, "npus_count");
    }
    if (found.empty()) {
        found = {static_cast<int>(hosts)};
    }
    uint64_t ranks = 1;
    for (const int size : found) {
        ranks *= static_cast<uint64_t>(size);
    }
    if (ranks == 0 || ranks > hosts) {
        throw std::runtime_error("the logical topology has " + std::to_string(ranks) + " ranks, and the network has " +
                                 std::to_string(hosts) + " hosts");
    }
    return found;
}

int run(const Options& options) {
    AstraSim::LoggerFactory::init(options.text("--logging-configuration"), options.text("--logging-folder"));
    AstraSimFanin::Ends ends;
    ends.receive_when_acked = options.second("--fanin-arrival", "receiver", "sender-ack");
    ends.send_when_arrived = options.second("--fanin-send-done", "acked", "arrived");
    Network network(options.given("--network-configuration"), options.changes, ends);
    const auto dims = dimensions(options, network.hosts());
    int ranks = 1;
    for (const int size : dims) {
        ranks *= size;
    }
    const std::vector<int> queues(dims.size(), static_cast<int>(options.number("--num-queues-per-dim")));
    const bool rendezvous = options.second("--rendezvous-protocol", "false", "true");
    Analytical::AnalyticalRemoteMemory memory(options.given("--remote-memory-configuration"));

    std::set<int> unfinished;
    std::vector<std::unique_ptr<FaninNetwork>> views;
    std::vector<std::unique_ptr<AstraSim::Sys>> systems;
    for (int rank = 0; rank < ranks; rank++) {
        unfinished.insert(rank);
        views.push_back(
            std::make_unique<FaninNetwork>(rank, network, [&unfinished](int which) { unfinished.erase(which); }));
        systems.push_back(std::make_unique<AstraSim::Sys>(
            rank, options.given("--workload-configuration"), options.text("--comm-group-configuration"),
            options.given("--system-configuration"), &memory, views.back().get(), dims, queues,
            options.number("--injection-scale"), options.number("--comm-scale"), rendezvous));
    }
    for (const auto& system : systems) {
        system->workload->fire();
    }
    auto told = std::chrono::steady_clock::now();
    while (network.step()) {
        const auto now = std::chrono::steady_clock::now();
        if (now - told > std::chrono::seconds(1)) {
            told = now;
            std::fprintf(stderr, "\r%.3f ms, %llu messages, %zu of %d ranks left  ",
                         static_cast<double>(network.now()) / 1e9,
                         static_cast<unsigned long long>(network.arrived()), unfinished.size(), ranks);
        }
    }
    const std::string waiting = network.waiting();
    std::printf("%llu messages; the last thing happened at %.3f ns\n",
                static_cast<unsigned long long>(network.arrived()), static_cast<double>(network.now()) / 1000);
    if (const auto& folder = options.text("--fanin-folder"); !folder.empty()) {
        network.write(folder);
    }
    systems.clear();
    AstraSim::LoggerFactory::shutdown();
    if (!unfinished.empty()) {
        std::fprintf(stderr, "%zu of %d ranks have not finished, the first is %d\n%s", unfinished.size(), ranks,
                     *unfinished.begin(), waiting.c_str());
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(Options(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
