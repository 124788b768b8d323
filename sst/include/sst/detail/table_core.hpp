// SPDX-License-Identifier: MIT
// The part of a table that knows no row type: memory, members, pushes, refreshing, failures.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dtutils/clock.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/transmitter.hpp"
#include "sst/member.hpp"
#include "sst/table_group.hpp"
#include "sst/table_limits.hpp"
#include "sst/table_options.hpp"

namespace sst::detail {

/// For Table. Layout of its registered memory, at every member:
///
///     row of member 0 | row of member 1 | ... | state line of member 0 | state line of member 1 |
///     ...
///
/// rows `stride` bytes apart, state lines kLine. Row and state line of a member are written by it
/// alone. State: 1 when its first row has arrived, TableGroup::kGoodbye when it writes here no
/// more.
class TableCore {
 public:
  /// Copies one row, field by field.
  using CopyRow = void (*)(void* to, const void* from) noexcept;
  /// What TableCore has to know of the type of a row.
  struct Shape {
    /// sizeof the row.
    std::size_t row_bytes;
    /// Bytes from one row to the next, a multiple of kLine.
    std::size_t stride;
    /// Of sizes, offsets and kinds of all fields: equal at all members.
    std::uint64_t digest;
    /// Copies a row.
    CopyRow copy;
  };

  /// Returns when the first row of every member, `initial` there, is here. Throws as
  /// TableGroup::meet. `kept`: see Table.
  TableCore(TableGroup& group, TableOptions options, const Shape& shape, const void* initial,
            dtutils::RDMAMemory kept);
  /// Whether `by` has offered such a table, which was not made here. `options` names the members.
  static bool is_offered(const TableGroup& group, const TableOptions& options, const Shape& shape,
                         dsfabric::ProcessId by) noexcept;
  TableCore(const TableCore&) = delete;
  TableCore& operator=(const TableCore&) = delete;
  /// Waits for no member: its memory stays until no member uses it any more, see
  /// TableGroup::defer_free. (In the mode kReads it waits for reads that are on their way.)
  ~TableCore();

  /// The TableGroup of the table. Any thread, wait-free.
  TableGroup& group() const noexcept { return group_; }
  /// With all members filled in. Any thread, wait-free.
  const TableOptions& options() const noexcept { return options_; }
  /// Number of rows. Any thread, wait-free.
  std::size_t size() const noexcept { return options_.members.size(); }
  /// The row of this process. Any thread, wait-free.
  MemberId self() const noexcept { return self_; }
  /// The row of a process; empty when it is no member. Any thread, wait-free.
  std::optional<MemberId> find(dsfabric::ProcessId process) const noexcept;
  /// The memory of a row in this process; builds with assertions check that there is such a member.
  /// Any thread, wait-free.
  std::byte* row(MemberId member) const noexcept {
    assert(member.value < size() && "cariama: a table has no such member");
    return rows_ + member.value * shape_.stride;
  }

  /// Posts a part of this process' row to all other members, and does not wait until it has
  /// arrived. `row` holds the row to send.
  void push(std::byte* row, std::size_t offset, std::uint32_t bytes) noexcept {
    if (bytes > max_inline_) [[unlikely]] {
      push_copy(row, offset, bytes);
      return;
    }
    // The device copies inline bytes as it takes the request: later changes do not reach them.
    for (const Peer& peer : peers_) {
      // When it is broken the failure detector's thread finds that (TableGroup), and the upcall
      // reports the member as failed.
      (void)peer.transmitter->write({row + offset, bytes, 0},
                                    {peer.own_row_there + offset, bytes, peer.rkey, 0, 0},
                                    dtutils::kInlined);
    }
  }

  /// The same to one other member.
  void push_to(MemberId member, std::size_t offset, std::uint32_t bytes) noexcept {
    if (bytes > max_inline_) [[unlikely]] {
      push_copy(own_row_, offset, bytes);
      return;
    }
    // As share() puts them: the next member first.
    const Peer& peer = peers_[(member.value + size() - self_.value - 1) % size()];
    (void)peer.transmitter->write({own_row_ + offset, bytes, 0},
                                  {peer.own_row_there + offset, bytes, peer.rkey, 0, 0},
                                  dtutils::kInlined);
  }

  /// SST-reads: starts a refresh of all rows if none is on its way and `pace` has passed since the
  /// last one began; takes over what has arrived. True when rows arrived. One thread at a time.
  ///
  /// Why nothing goes back (Table's promise 3): of each row at most one read is under way, and the
  /// next one begins only when it has ended, landed whole and been copied. So each look at a word
  /// of the owner's row comes after all looks that were copied before, in whatever order a read
  /// fetches or lands its lines, and the owner's stores of that word are in order. The copy is
  /// written by this thread alone. Of a Versioned, a read may see two writes at once; then what it
  /// takes is one of them, whole (versioned.hpp), and it is copied only if its number is larger
  /// than that of the copy. So nothing depends on how two reads that are under way at once would
  /// land. tests/sst/model/fetch.pml holds this.
  bool refresh(std::chrono::nanoseconds pace) noexcept;

  /// Whether there are failures that the user has not been told of.
  bool failures_are_new() const noexcept { return group_.failures() != failures_seen_; }
  /// Runs the upcalls for members that failed since the last time. The evaluating thread.
  void tell_failures();
  /// Adds an upcall, and runs it for failures that were told before. As Table::on_failure.
  void on_failure(FailureUpcall upcall);
  /// The member failed or left. Any thread, wait-free.
  bool frozen(MemberId member) const noexcept;

 private:
  struct Peer {
    dtutils::Transmitter* transmitter;
    /// Of this process' row, in the peer's memory.
    std::uint64_t own_row_there;
    std::uint32_t rkey;
    MemberId member;
  };
  /// A copy of this process' row that pushes are made from; free when `busy` is not set and all
  /// tags are done.
  struct PushBuffer {
    std::atomic<bool> busy{false};
    std::vector<dtutils::RetireTag> tags;
  };
  /// A refresh: one read of a row, and what waits for its end.
  struct Fetch {
    dtutils::RemoteMemoryLocator from;
    dtutils::Synchronizer arrived{0};
    bool pending = false;
  };

  void share(const void* initial);
  void defer_free();
  void set_state(std::uint64_t state) noexcept;
  std::uint64_t* state_line(MemberId member) const noexcept;
  void push_copy(std::byte* row, std::size_t offset, std::uint32_t bytes) noexcept;
  bool take_fetched() noexcept;
  void start_fetches() noexcept;

  TableGroup& group_;
  TableOptions options_;
  const Shape shape_;
  MemberId self_{};
  std::uint32_t max_inline_;
  dtutils::RDMAMemory kept_;
  dtutils::RDMAMemory memory_;
  std::byte* rows_ = nullptr;
  std::byte* own_row_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<dtutils::RemoteMemoryLocator> tables_;

  std::array<PushBuffer, kPushBuffers> buffers_;
  dtutils::RDMAMemory buffer_memory_;
  std::atomic<std::uint32_t> next_buffer_{0};

  std::unique_ptr<Fetch[]> fetches_;
  dtutils::RDMAMemory landing_;
  std::size_t fetching_ = 0;
  dtutils::Clock::time_point last_refresh_{};

  std::uint32_t failures_seen_ = 0;
  std::vector<bool> told_;
  std::vector<FailureUpcall> upcalls_;
};

}  // namespace sst::detail
