// SPDX-License-Identifier: MIT
// Server: exchanges among all processes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "bootstrap/server.hpp"

namespace dsfabric::rendezvous {
namespace {

/// Frames of kGathered: whole ranks, as many in each as fit.
class Run {
 public:
  /// The next rank's bytes; a frame that is full by then goes to `out`.
  template <class Out>
  void add(std::uint32_t rank, std::span<const std::byte> bytes, Out out) {
    if (body_.size() == 0) body_.u32(rank);
    body_.bytes(bytes);
    if (body_.size() >= kFullFrame) end(out);
  }
  template <class Out>
  void end(Out out) {
    if (body_.size() != 0) out(make_frame(Type::kGathered, body_.take()));
  }

 private:
  Writer body_;
};

}  // namespace

void Server::contribute(Member& member, const Frame& frame) {
  Reader reader(frame.body);
  const auto limit = reader.u32();
  if (!limit || member.contribution || (exchange_ && *exchange_ != frame.type)) {
    return lose(*member.guest);
  }
  // Of the right form, once and for all.
  const std::size_t parts = frame.type == Type::kGather ? 1 : founders_;
  for (std::size_t i = 0; i < parts; ++i) {
    if (!reader.bytes()) return lose(*member.guest);
  }
  member.contribution = frame.body;
  ++contributed_;
  exchange_ = frame.type;
  const auto by = Clock::now() + std::chrono::milliseconds(*limit);
  if (!exchange_by_ || by < *exchange_by_) exchange_by_ = by;
  finish_exchange();
}

void Server::finish_exchange() {
  if (contributed_ == founders_) {
    *exchange_ == Type::kGather ? send_gathered() : send_scattered();
    return end_exchange();
  }
  if (gone_ == 0) return;
  std::vector<std::size_t> ended;
  for (std::size_t rank = 0; rank < founders_; ++rank) {
    if (!members_[rank].contribution && members_[rank].gone()) ended.push_back(rank);
  }
  if (ended.empty()) return;
  fail_exchange(fmt::format("these processes have ended: {}", fmt::join(ended, ", ")));
}

void Server::send_gathered() {
  // The same frames for all, who share their bytes.
  std::vector<std::shared_ptr<const Bytes>> frames;
  const auto out = [&](std::shared_ptr<const Bytes> frame) { frames.push_back(std::move(frame)); };
  Run run;
  for (std::uint32_t rank = 0; rank < founders_; ++rank) {
    Reader reader(*members_[rank].contribution);
    (void)reader.u32();
    run.add(rank, *reader.bytes(), out);
  }
  run.end(out);
  for (const auto& frame : frames) {
    for (Member& member : founders()) send(member, frame);
  }
}

void Server::send_scattered() {
  std::vector<Reader> readers;
  for (const Member& member : founders()) {
    (void)readers.emplace_back(*member.contribution).u32();
  }
  for (Member& to : founders()) {
    const auto out = [&](const std::shared_ptr<const Bytes>& frame) { send(to, frame); };
    Run run;
    for (std::uint32_t rank = 0; rank < founders_; ++rank) {
      run.add(rank, *readers[rank].bytes(), out);
    }
    run.end(out);
  }
}

void Server::fail_exchange(const std::string& sentence) {
  const auto frame = make_frame(Type::kMissing, Writer().text(sentence).take());
  for (Member& member : founders()) {
    if (member.contribution) send(member, frame);
  }
  end_exchange();
}

void Server::end_exchange() {
  for (Member& member : founders()) member.contribution.reset();
  contributed_ = 0;
  exchange_.reset();
  exchange_by_.reset();
}

}  // namespace dsfabric::rendezvous
