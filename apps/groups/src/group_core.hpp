// SPDX-License-Identifier: MIT
// The inside of an OrderedGroup: the view of today, the change to the next one, joins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "door.hpp"
#include "dtutils/clock.hpp"
#include "groups/group_options.hpp"
#include "read_rounds.hpp"
#include "state_stream.hpp"
#include "view_tables.hpp"
#include "watch.hpp"

namespace groups::detail {

/// For OrderedGroup, which says what is promised. How a view ends, each step by one-sided writes
/// into rows (ViewRow) and one Agreement among the members of the view:
///
///  1. Wedge: a member that finds another gone or wedged, and a leader that has a reason, sends and
///     receives no more, and says how many positions of the order it has received.
///  2. Remove: the Agreement removes the gone, whose connections are cut before anybody goes on.
///  3. Next(n): when all that are included are wedged, the leader proposes attempt n: who stays,
///     who joins, and the trim: the least of what they have received. Whatever anybody has
///     delivered is below that, for a message is delivered only when all have received it, and no
///     member receives any after it has said how many. When it is decided, all deliver up to the
///     trim.
///  4. Make: those that stay, and the one that joins, make the tables of the next view, and say so.
///     Who cannot, because another death came between, or who finds by its frozen rows that it has
///     lost the majority before the one that joins has made them, says that the attempt is broken.
///     Who says so, or follows the next attempt, tells the one that joins, which then waits no
///     more. That decides nothing: an attempt is committed when all have said that they made it.
///  5. Commit(n), when all have made them; else Next(n + 1). One Agreement decides both, so nobody
///     is in a view that others have given up. Each installs the view, sends again what was not
///     delivered, and leaves the tables of the old one.
///
/// If a leader dies, Agreement has the next one finish what may have been decided. A process that
/// joins is no member of the old view's Agreement; it believes the first member of the new view
/// that says it is committed. tests/groups/model/views.pml holds this, and joins.pml how a process
/// comes to that. Owner thread only.
class GroupCore {
 public:
  GroupCore(sst::TableGroup& group, GroupOptions options, GroupUpcalls upcalls);
  GroupCore(const GroupCore&) = delete;
  GroupCore& operator=(const GroupCore&) = delete;
  ~GroupCore() = default;

  Reservation try_reserve(std::uint32_t bytes) noexcept;
  bool commit() noexcept;
  bool flush() noexcept;
  bool progress();
  void join() noexcept;
  void leave() noexcept;
  GroupState state() const noexcept;
  const View& view() const noexcept { return view_; }
  std::uint64_t next_sequence() const noexcept { return next_sequence_; }
  std::uint64_t undelivered() const noexcept { return accepted_ - own_delivered_; }
  std::uint32_t max_message() const noexcept { return options_.max_message; }
  dsfabric::ProcessId process() const noexcept { return door_.self(); }
  std::uint64_t begin_read() noexcept { return reads_.begin(); }
  std::uint64_t readable() const noexcept { return reads_.ready(); }
  void set_persisted(std::uint64_t next) noexcept;
  std::uint64_t persisted_by_all() const noexcept;
  std::string describe() const;

 private:
  static constexpr std::chrono::milliseconds kTablesPatience{200};
  /// How far this member has followed a decision Next.
  enum class Step : std::uint8_t { kNone, kDeliver, kMake, kMade };

  // group_core.cpp
  void take(const sst::Message& message);
  void deliver(const Delivery& message);
  void tell_view();
  bool look_is_due() noexcept;
  /// The launcher of an elastic job has: nobody listens to this process any more.
  bool is_given_up() const noexcept { return group_.fabric().failed(process()); }
  bool answer_newcomers();
  /// How long one process may hold up the others.
  std::chrono::milliseconds patience_with_one() const noexcept;
  bool look();
  std::unique_ptr<ViewTables> make_tables(const View& view, std::uint64_t attempt,
                                          std::function<bool()> give_up);

  // view_change.cpp
  bool must_wedge();
  void wedge();
  void lead();
  Decision wanted_decision() const;
  Decision next_attempt(std::uint64_t included) const;
  bool is_broken(std::uint64_t included) const;
  bool all_made() const;
  bool follow();
  void start(const Decision& next);
  bool go_on();
  View next_view() const;
  void send_cut();
  void make();
  void break_attempt();
  /// Whoever joins by the attempt, and waits for its tables, need not wait any longer.
  void refuse_joiner() noexcept;
  bool joiner_has_made() const;
  /// How long the making of the tables of an attempt may take.
  std::chrono::milliseconds patience_with_tables() const noexcept;
  bool decided_meanwhile();
  /// This member takes part in no later view, as it believes.
  bool has_lost_the_group() const noexcept;
  void install();
  void enter_view();
  void depart();

  // joining.cpp
  std::optional<std::uint16_t> donor_of_candidate(std::uint64_t included) const;
  bool asks(dsfabric::ProcessId process, std::uint64_t ticket) const noexcept;
  bool serve_joiner();
  bool go_on_joining();
  void ask_again();
  /// The others have gone on without this process.
  bool is_passed_over(const View& view) const noexcept;
  /// Nobody will commit this view with this process, which has not made its tables.
  bool is_in_vain(const View& view) const noexcept;
  bool take_records();
  void make_first_view();
  bool await_commit();

  sst::TableGroup& group_;
  const GroupOptions options_;
  const GroupUpcalls upcalls_;
  Door door_;
  Watch watch_;
  StateSource source_;
  StateSink sink_;
  ReadRounds reads_;

  /// The view that the upcall was called for.
  View view_;
  bool view_is_told_ = true;
  /// The tables of the view, and those of the attempt at the next one.
  std::unique_ptr<ViewTables> now_;
  std::unique_ptr<ViewTables> next_;
  Step step_ = Step::kNone;
  /// The last Next that was decided.
  Decision attempt_;
  dtutils::Clock::time_point attempt_began_{};
  bool wedged_ = false;
  bool removed_ = false;
  bool may_send_;
  bool leaving_ = false;
  bool in_progress_ = false;
  std::uint32_t rounds_ = 0;
  std::uint32_t door_rounds_ = 0;
  std::uint32_t failures_seen_ = 0;

  std::uint64_t next_sequence_;
  /// Messages of this process: accepted, and delivered here.
  std::uint64_t accepted_ = 0;
  std::uint64_t own_delivered_ = 0;
  std::uint64_t persisted_ = 0;

  /// By process: the last ticket that was served.
  std::vector<std::uint64_t> served_;
  bool joining_ = false;
  bool has_state_ = false;
  Ask ask_;
  /// What the cut says of the view to come.
  std::optional<View> cut_;
  std::uint64_t cut_attempt_ = 0;
};

}  // namespace groups::detail
