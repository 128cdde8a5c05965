#include "runtime/session/agree.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace trifold::ranks {
namespace {

using nlohmann::json;

void send_text(Transport& transport, int to, const std::string& text) {
    const auto bytes = static_cast<std::int64_t>(text.size());
    transport.send(to, &bytes, sizeof bytes);
    transport.send(to, text.data(), bytes);
}

std::string receive_text(Transport& transport, int from) {
    std::int64_t bytes = 0;
    transport.receive(from, &bytes, sizeof bytes);
    std::string text(static_cast<std::size_t>(bytes), '\0');
    transport.receive(from, text.data(), bytes);
    return text;
}

/// The first value that two ranks do not share; empty: they share all.
std::string difference(const json& first, const json& other, int rank) {
    for (const auto& [key, value] : first.items())
        if (const auto found = other.find(key); found == other.end() || *found != value)
            return fmt::format("rank {} has {} {}, and rank 0 has {}; give all ranks the same", rank, key,
                               found == other.end() ? "no value" : found->dump(), value.dump());
    return {};
}

}  // namespace

std::vector<std::byte> gather(Transport& transport, std::span<const std::byte> mine) {
    const auto ranks = static_cast<std::size_t>(transport.ranks()), each = mine.size();
    std::vector<std::byte> all(ranks * each);
    std::memcpy(all.data() + static_cast<std::size_t>(transport.rank()) * each, mine.data(), each);
    if (transport.rank() == 0) {
        for (std::size_t k = 1; k < ranks; ++k)
            transport.receive(static_cast<int>(k), all.data() + k * each, static_cast<std::int64_t>(each));
        for (std::size_t k = 1; k < ranks; ++k) transport.send(static_cast<int>(k), all.data(), static_cast<std::int64_t>(all.size()));
    } else {
        transport.send(0, mine.data(), static_cast<std::int64_t>(each));
        transport.receive(0, all.data(), static_cast<std::int64_t>(all.size()));
    }
    return all;
}

void agree(Transport& transport, const std::string& mine, const std::string& problem) {
    const json own = {{"problem", problem}, {"values", problem.empty() ? json::parse(mine) : json::object()}};
    const int ranks = transport.ranks();
    json verdict = {{"rank", -1}, {"text", ""}};
    if (transport.rank() == 0) {
        std::vector<json> all{own};
        for (int k = 1; k < ranks; ++k) all.push_back(json::parse(receive_text(transport, k)));
        const auto judge = [&](int rank, const std::string& text) {
            if (!text.empty() && verdict["rank"] == -1) verdict = {{"rank", rank}, {"text", text}};
        };
        for (int k = 0; k < ranks; ++k)
            if (const auto& what = all[static_cast<std::size_t>(k)]["problem"]; what != "")
                judge(k, fmt::format("rank {} has failed: {}", k, what.get<std::string>()));
        for (int k = 1; k < ranks; ++k) judge(k, difference(all[0]["values"], all[static_cast<std::size_t>(k)]["values"], k));
        for (int k = 1; k < ranks; ++k) send_text(transport, k, verdict.dump());
    } else {
        send_text(transport, 0, own.dump());
        verdict = json::parse(receive_text(transport, 0));
    }
    if (verdict["rank"] != -1) throw RankError(verdict["text"].get<std::string>(), verdict["rank"].get<int>());
}

void together(Transport& transport, const std::function<std::string()>& step) {
    std::exception_ptr failed;
    std::string values, problem;
    try {
        values = step();
    } catch (const std::exception& error) {
        problem = error.what();
        failed = std::current_exception();
    }
    try {
        agree(transport.hosts(), values, problem);
    } catch (const RankError&) {
        if (failed == nullptr) throw;
    }
    if (failed != nullptr) std::rethrow_exception(failed);
}

std::shared_ptr<Transport> carrying(std::shared_ptr<Transport> transport, const Device& device) {
    if (transport == nullptr) throw SpecError("there is no transport; take one of LocalRanks, or make an MpiTransport");
    if (device.backend() == Backend::cpu || transport->is_on_device() || transport->ranks() == 1) return transport;
    return std::make_shared<NcclTransport>(std::move(transport), device);
}

}  // namespace trifold::ranks
