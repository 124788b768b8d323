// SPDX-License-Identifier: MIT
// A worker's way to shared data: allocate, find, free, get, put, hold.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dsfabric/return_slot.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/rdma_memory.hpp"
#include "locks/locks.hpp"
#include "memory/client.hpp"
#include "sharing/datum.hpp"
#include "sharing/space.hpp"

namespace sharing {

namespace detail {
struct NodeRequest;
struct NodeAnswer;
struct SeenCopy;
}  // namespace detail

/// What a Client has done so far.
struct ClientCounters {
  /// Gets that the cache of the host answered, without a network operation.
  std::uint64_t hits = 0;
  /// Gets that fetched.
  std::uint64_t fetches = 0;
};

/// One worker's use of a Space.
///
///     sharing::Client client(self, space);
///     const sharing::Datum load = client.allocate("load", 8, sharing::delta(2), memory::here());
///     client.put(load, bytes);
///
/// Made and destroyed by all workers inside Fabric::run, in the same order (a collective, as
/// locks::LockSpace, with its failure rules). Operations wait and serve meanwhile; they throw Error
/// in an inline handler where they would have to wait, and what handlers throw that run meanwhile.
/// Owner thread only; the Space outlives it.
class Client {
 public:
  /// Throws as LockSpace and memory::Client. Setup only.
  Client(dsfabric::Thread& self, Space& space);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// New data of `bytes` zero bytes under a name of 1 to 63 bytes, placed as memory::here(),
  /// there(), near() or spread() say. Of several processes that allocate one name at the same time
  /// one gets it. Throws Error when there is no memory or no number (SpaceOptions::data), the name
  /// is taken or bad, or the size is 0 or too large; PeerFailed when the home is gone. Then it has
  /// taken nothing.
  Datum allocate(std::string_view name, std::uint32_t bytes, Model model,
                 memory::Placement placement = {});
  /// What is known under a name. Where the process that kept the name is gone, asks all others.
  std::optional<Datum> find(std::string_view name);
  /// Ends data and the name. Nobody uses them any more: with the models kNull, kWrite and kStrict a
  /// put of who does may change what is allocated there later. After kHomeFailed the name is free,
  /// too.
  Status free(std::string_view name);

  /// The bytes, all of them, as the model promises. `version`, if given, is the number of the put
  /// that wrote them, counted from the allocation; 0 with kNull.
  Status get(const Datum& datum, std::span<std::byte> into, std::uint64_t* version = nullptr,
             Wait wait = Wait::kWait);
  /// Writes all bytes. When it returns, it is done at the home.
  Status put(const Datum& datum, std::span<const std::byte> from, Wait wait = Wait::kWait);

  /// Its counters.
  const ClientCounters& counters() const noexcept { return counters_; }

 private:
  friend class Hold;
  friend class Reader;
  using Mutex = locks::SharedMutex<>;

  detail::SeenCopy see(const Datum& datum) const;
  bool copy_from_host(const Datum& datum, std::span<std::byte> into, std::uint64_t& version);
  Status get_excluding(const Datum& datum, std::span<std::byte> into, std::uint64_t& version,
                       Wait wait);
  Status fetch(const Datum& datum, std::span<std::byte> into, std::uint64_t& version);
  Status mark_damaged(const Datum& datum);
  void subscribe(const Datum& datum);
  Status put_null(const Datum& datum, std::span<const std::byte> from);
  Status put_held(const Datum& datum, std::span<const std::byte> from);
  Status put_plain(const Datum& datum, std::span<const std::byte> from);
  Status put_and_unlock(const Datum& datum, std::span<const std::byte> from, Mutex& mutex);
  Status put_versioned(const Datum& datum, std::span<const std::byte> from);
  void push(const Datum& datum, std::uint64_t hosts, std::uint64_t version);
  /// Who keeps a name, or would have to; an heir where the first one of them is gone.
  struct Keeper {
    dsfabric::ProcessId process;
    bool is_heir;
  };
  detail::NodeAnswer ask(dsfabric::ProcessId process, detail::NodeRequest& request);
  detail::NodeAnswer ask_keeper(std::string_view name, detail::NodeRequest& request);
  detail::NodeAnswer ask_homes(std::string_view name);
  bool is_gone(dsfabric::ProcessId process) const noexcept;
  Keeper keeper_of(std::string_view name) const noexcept;
  Datum place(std::uint32_t bytes, Model model, memory::Placement placement);
  void number(std::string_view name, Datum& datum);
  bool claim(dsfabric::ProcessId keeper, std::string_view name, const Datum& datum);
  void take_back(const Datum& datum, bool numbered);
  void give_number(const Datum& datum);
  std::byte* stage(std::uint64_t bytes);
  locks::LockId lock_of(const Datum& datum, bool of_readers) const noexcept;
  std::chrono::nanoseconds now() const noexcept;

  dsfabric::Thread& self_;
  Space& space_;
  memory::Client client_;
  locks::LockSpace locks_;
  dsfabric::SendChannel channel_;
  /// What a put writes; each waits until it is done.
  dtutils::RDMAMemory staged_;
  /// A word to push, one for results that nobody reads, and a 1.
  dtutils::RDMAMemory words_;
  std::vector<std::byte> versioned_;
  ClientCounters counters_;
};

/// Excludes, as long as it lives, whom a get or a put of the model excludes; for several operations
/// as one:
///
///     sharing::Hold hold(client, account, sharing::Hold::kPut);
///     hold.get(bytes); change(bytes); hold.put(bytes);
///
/// With kNull, kTemporal and kDelta a get excludes nobody. Owner thread only.
class Hold {
 public:
  /// As which of the two.
  enum As : std::uint8_t { kGet, kPut };
  /// Waits. Throws as locks::SharedMutex::lock.
  Hold(Client& client, const Datum& datum, As as);
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  /// As Client::get, without exclusion of its own, and of the newest put.
  Status get(std::span<std::byte> into, std::uint64_t* version = nullptr);
  /// As Client::put, without exclusion of its own. Only with kPut.
  Status put(std::span<const std::byte> from);

 private:
  Client& client_;
  Datum datum_;
  As as_;
  Client::Mutex mutex_;
  bool held_ = false;
  bool shared_ = false;
};

}  // namespace sharing
