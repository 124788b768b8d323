// SPDX-License-Identifier: MIT
// The launcher's side of the rendezvous: one thread, any number of processes.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/frame.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/proof.hpp"
#include "dsfabric/elastic_job.hpp"

namespace dsfabric::rendezvous {

/// Listens, lets in processes that prove that they know the secret, and answers
/// them. Strangers, garbage and slow connections are dropped; they cost a
/// descriptor and a few KiB for a few seconds, and there are never more than
/// kStrangers of them beside the processes that have not joined. Its work for
/// one event does not depend on how many processes there are, except for news
/// that all of them get. One thread.
class Server {
 public:
  /// Listens on `address` (an IPv4 or IPv6 literal) and `port`, 0 for any free
  /// one. With a `capacity`, the job is elastic: it begins with `processes`, and
  /// may have so many in the course of its life (ElasticJob). Throws Error (a
  /// used port, a wrong address).
  Server(std::uint32_t processes, const std::string& secret, const std::string& address,
         std::uint16_t port, std::uint32_t capacity = 0);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  std::uint16_t port() const noexcept { return listener_.port(); }

  /// Appends what to wait for; pass the same entries to `handle` after poll(2).
  void watch(std::vector<pollfd>& into) const;
  /// Until when poll(2) may wait; empty: as long as it likes.
  std::optional<std::chrono::steady_clock::time_point> next_deadline() const;
  void handle(const std::vector<pollfd>& ready);

  /// The launcher saw this process end; a process that said goodbye, or ended
  /// with status 0 before it joined, has not failed.
  void process_ended(std::uint32_t rank, bool in_order);
  /// Ranks that have not joined so far.
  std::vector<std::uint32_t> not_joined() const;
  /// Each of those that were started together has come, and left or failed.
  bool all_gone() const noexcept { return gone_ == founders_; }
  /// Those that have joined and are not gone.
  std::uint32_t members() const noexcept;
  /// What is known of a process that had a rank.
  struct Record {
    bool joined = false;
    /// All others know of it: the event of its joining is out.
    bool introduced = false;
    bool left = false;
    bool failed = false;
    /// The last change of these.
    std::chrono::system_clock::time_point since = std::chrono::system_clock::now();
    Bytes introduction;
    /// Why it has failed.
    std::string reason;
  };
  /// As many as had a rank so far, the founders first.
  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  const Record& record(std::uint32_t rank) const noexcept { return members_[rank]; }
  /// Connections that have not proved that they know the secret. For tests.
  std::size_t strangers() const noexcept { return strangers_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Guest;
  using Guests = std::list<std::unique_ptr<Guest>>;
  struct Guest {
    explicit Guest(int socket) : connection(socket) {}
    Connection connection;
    Nonce nonce = make_nonce();
    Clock::time_point came = Clock::now();
    std::optional<std::uint32_t> rank;
    bool closed = false;
    /// Whether the poll for it asks for room to write.
    bool wants_room = false;
    /// It is in unsent_.
    bool unsent = false;
    /// In strangers_, known_ or closed_.
    Guests::iterator place;
  };
  struct Member : Record {
    Guest* guest = nullptr;
    /// Its part of the exchange that is under way: one for all others, or one
    /// for each of them.
    std::optional<Bytes> contribution;

    bool gone() const noexcept { return left || failed; }
    void changes() noexcept { since = std::chrono::system_clock::now(); }
  };

  bool elastic() const noexcept { return capacity_ != 0; }
  bool is_founder(std::uint32_t rank) const noexcept { return rank < founders_; }
  /// To the others: a newcomer is so once it has introduced itself.
  bool is_known(std::uint32_t rank) const noexcept {
    return is_founder(rank) || members_[rank].introduced;
  }

  void accept_guests();
  void pause_listening();
  bool make_place();
  void send_away(int socket, const std::string& sentence);
  void serve(Guest& guest);
  void watch_for_room(Guest& guest);
  void greet(Guest& guest, const Frame& frame);
  void refuse(Guest& guest, const std::string& sentence);
  void serve_member(Guest& guest, const Frame& frame);
  /// The processes that were started together, which alone exchange bytes.
  std::span<Member> founders() noexcept { return {members_.data(), founders_}; }
  void contribute(Member& member, const Frame& frame);
  /// Hands a letter on. Those to members that have not come, or are gone, are lost.
  void relay(std::uint32_t from, const Frame& frame);
  void finish_exchange();
  void send_gathered();
  void send_scattered();
  void fail_exchange(const std::string& sentence);
  void end_exchange();
  void drop(Guest& guest);
  void lose(Guest& guest);
  void fail(std::uint32_t rank, const std::string& reason);
  void leave(std::uint32_t rank);
  // Of elastic jobs.
  void introduce(Guest& guest, const Frame& frame);
  void accuse(Guest& guest, const Frame& frame);
  /// The next event, for all members.
  void tell(JobEvent::Kind kind, std::uint32_t rank, std::span<const std::byte> bytes);
  void drop_late(Clock::time_point now);
  void free_closed();
  /// Sent when all that has come so far is handled, so that a crowd of letters, as many as the
  /// square of the processes when all of them leave, takes few system calls and wakes few.
  void send(Member& member, const std::shared_ptr<const Bytes>& frame);
  void send_unsent();
  std::string refusal(const Guest& guest, const Bytes& hello, Greeting& greeting);
  std::string refusal_of_newcomer() const;
  /// All who start an elastic job are known.
  bool begun() const noexcept { return introduced_ == founders_; }

  Secret secret_;
  Listener listener_;
  int epoll_ = -1;
  /// Until then nobody is taken in, because there are no descriptors, not even
  /// the reserve.
  std::optional<Clock::time_point> paused_until_;
  std::string build_;
  const std::uint32_t founders_;
  const std::uint32_t capacity_;
  /// By rank: the founders, then newcomers; as many as had a rank so far.
  std::vector<Member> members_;
  /// All events of an elastic job, as they travel.
  std::vector<std::shared_ptr<const Bytes>> events_;
  /// Of the founders: those that joined, that introduced themselves, that are
  /// gone, and that have contributed.
  std::size_t joined_ = 0;
  std::size_t introduced_ = 0;
  std::size_t gone_ = 0;
  std::size_t contributed_ = 0;
  /// kGather or kScatter, while some have contributed.
  std::optional<Type> exchange_;
  std::optional<Clock::time_point> exchange_by_;
  /// In the order in which they came.
  Guests strangers_;
  Guests known_;
  /// Some frames of theirs are queued and not sent.
  std::vector<Guest*> unsent_;
  /// Closed, but perhaps among the events that are being handled.
  Guests closed_;
};

}  // namespace dsfabric::rendezvous
