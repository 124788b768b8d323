// SPDX-License-Identifier: MIT
// Puts and gets of shared data beside the raw operations that they are made of.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bench/webtier/cases.hpp"
#include "sharing/sharing.hpp"

namespace webtier_bench {
namespace {

using sharing::Client;
using sharing::Datum;
using sharing::Model;

constexpr std::uint64_t kRawBytes = 128;

struct Sharing {
  Sharing(bench::Channel& channel, const std::string& device)
      : fabric(join(channel, device)),
        space(fabric, {.bytes = 1 << 20, .data = 64, .cached = 64}),
        registered(fabric.general_allocator().allocate(kRawBytes)),
        bytes(8192),
        copy(8192) {
    if (fabric.process().value == 0) raw = fabric.allocate_remote({1}, kRawBytes);
  }

  dsfabric::Fabric fabric;
  sharing::Space space;
  dtutils::RDMAMemory registered;
  std::vector<std::byte> bytes;
  std::vector<std::byte> copy;
  std::optional<dsfabric::RemoteMemory> raw;
};

/// Both workers have a Client; what `begin(here, client, datum)` gives is done by that of process 0
/// again and again.
template <class Begin>
bench::Variant with(const Kept<Sharing>& kept, const char* name, Model model, std::uint32_t size,
                    Begin begin) {
  const auto with_client = [kept](const std::function<void(Client&)>& body) {
    Sharing& here = **kept;
    here.fabric.run([&](dsfabric::Thread& self) {
      Client client(self, here.space);
      body(client);
      self.barrier();
    });
  };
  const std::string data = name;
  return {.name = name,
          .measure =
              [=](bench::Batch& batch) {
                double figure = 0;
                with_client([&](Client& client) {
                  std::optional<Datum> datum = client.find(data);
                  if (!datum) datum = client.allocate(data, size, model, memory::there({1}));
                  auto work = begin(**kept, client, *datum);
                  work();
                  figure = batch.ns_each([&] {
                    for (std::uint64_t i = 0; i < batch.iterations(); ++i) work();
                  });
                });
                return figure;
              },
          .assist = [=](bench::Batch&) { with_client([](Client&) {}); }};
}

/// The same with `work(here, client, datum)`.
template <class Work>
bench::Variant by(const Kept<Sharing>& kept, const char* name, Model model, std::uint32_t size,
                  Work work) {
  return with(kept, name, model, size, [work](Sharing& here, Client& client, const Datum& datum) {
    return [&, work, datum] { work(here, client, datum); };
  });
}

void write_raw(Sharing& here) {
  dtutils::Transmitter& to = here.fabric.transmitter({1});
  dtutils::Synchronizer done(1);
  must(to.write(here.registered.local(0, 1), here.raw->locator().part(64, 1), done) &&
           to.wait(done) == dtutils::Synchronizer::Outcome::kDone,
       "the peer is gone");
}

void put(Sharing& here, Client& client, const Datum& datum) {
  must(client.put(datum, std::span(here.bytes).first(datum.bytes)) == sharing::Status::kDone,
       "a put failed");
}

void get(Sharing& here, Client& client, const Datum& datum) {
  must(client.get(datum, std::span(here.copy).first(datum.bytes)) == sharing::Status::kDone,
       "a get failed");
}

/// Gets by a Reader.
bench::Variant read_by(const Kept<Sharing>& kept, const char* name, Model model,
                       std::uint32_t size) {
  return with(kept, name, model, size, [](Sharing& here, Client& client, const Datum& datum) {
    return [&, reader = sharing::Reader(client, datum)]() mutable {
      must(reader.get(std::span(here.copy).first(reader.datum().bytes)) == sharing::Status::kDone,
           "a get failed");
    };
  });
}

void add_puts(bench::Suite& suite, const std::string& device) {
  bench::Case item{.name = "sharing_put", .size = 1};
  const auto kept = keep<Sharing>(item, device);
  const auto raw = [](Sharing& here, Client&, const Datum&) { write_raw(here); };
  const auto locked = [](Sharing& here, Client&, const Datum&) {
    dtutils::Transmitter& to = here.fabric.transmitter({1});
    const auto word = here.raw->locator().part(0, 8);
    must(to.blocking_compare_and_swap(word, 0, 1) == 0, "the lock is taken");
    write_raw(here);
    must(to.blocking_compare_and_swap(word, 1, 0) == 1, "the lock is lost");
  };
  using std::chrono::milliseconds;
  item.variants = {by(kept, "rdma_write", sharing::null(), 1, raw),
                   by(kept, "null", sharing::null(), 1, put),
                   by(kept, "lock_write_unlock", sharing::null(), 1, locked),
                   by(kept, "strict", sharing::strict(), 1, put),
                   by(kept, "write", sharing::write(), 1, put),
                   by(kept, "read", sharing::read(), 1, put),
                   by(kept, "delta", sharing::delta(2), 1, put),
                   by(kept, "temporal", sharing::temporal(milliseconds(1)), 1, put)};
  item.ratios = {{.over = "null", .under = "rdma_write", .bar = "<= 1.2"},
                 {.over = "strict", .under = "lock_write_unlock", .bar = "<= 1.25"},
                 {.over = "delta", .under = "lock_write_unlock"},
                 {.over = "temporal", .under = "lock_write_unlock"}};
  suite.add(std::move(item));
}

void add_gets(bench::Suite& suite, const std::string& device) {
  for (const std::uint32_t size : {64u, 1024u, 4096u}) {
    bench::Case item{.name = "sharing_get", .size = size};
    const auto kept = keep<Sharing>(item, device);
    const auto copy = [](Sharing& here, Client&, const Datum& datum) {
      std::memcpy(here.copy.data(), here.bytes.data(), datum.bytes);
      asm volatile("" : : "r"(here.copy.data()) : "memory");
    };
    item.variants = {by(kept, "memcpy", sharing::null(), size, copy),
                     by(kept, "null", sharing::null(), size, get),
                     by(kept, "delta", sharing::delta(2), size, get),
                     by(kept, "temporal", sharing::temporal(std::chrono::hours(1)), size, get),
                     by(kept, "strict", sharing::strict(), size, get)};
    const auto hour = sharing::temporal(std::chrono::hours(1));
    item.variants.push_back(read_by(kept, "delta_reader", sharing::delta(2), size));
    item.variants.push_back(read_by(kept, "temporal_reader", hour, size));
    for (const char* name : {"delta", "delta_reader", "temporal", "temporal_reader"}) {
      item.ratios.push_back({.over = name, .under = "memcpy", .bar = "<= 1.5"});
    }
    suite.add(std::move(item));
  }
}

}  // namespace

void add_sharing_cases(bench::Suite& suite, const std::string& device) {
  add_puts(suite, device);
  add_gets(suite, device);
}

}  // namespace webtier_bench
