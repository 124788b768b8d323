// SPDX-License-Identifier: MIT
// Under PMIx, a rendezvous at process 0 carries letters: so processes connect when they first talk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmix_job.hpp"
#include "bootstrap/rendezvous_thread.hpp"

namespace dsfabric {

/// A way to the rendezvous of process 0, and there the rendezvous itself.
struct MeetingAtProcess0 {
  std::unique_ptr<rendezvous::RendezvousThread> server;
  std::unique_ptr<Bootstrap> client;
};

/// PMIx carries the address and the secret; on one host it is a loopback address, and else the IPv4
/// addresses of the host are tried in turn. Empty at all processes where the job has one only, or
/// not all have reached process 0, for example because a firewall is between them. A collective of
/// all processes; throws Error; setup only.
std::optional<MeetingAtProcess0> meet_at_process_0(PmixJob& job, const BootstrapOptions& options);

/// Everything goes by the rendezvous. Ends that PMIx tells of are told to the rendezvous, which
/// knows who has said goodbye, and puts the news behind the letters. Process 0 stays until all
/// others have left or failed, unless it fails itself: then processes that are connected go on,
/// others cannot connect any more, and PMIx tells of ends.
class PmixRendezvous final : public Bootstrap {
 public:
  /// Throws Error when no descriptors are left.
  PmixRendezvous(std::unique_ptr<PmixJob> job, MeetingAtProcess0 meeting);
  ~PmixRendezvous() override;

  std::uint32_t rank() const noexcept override { return job_->rank(); }
  std::uint32_t size() const noexcept override { return job_->size(); }
  std::string name() const override { return "PMIx, by process 0"; }

  std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                std::chrono::milliseconds limit) override {
    return client_->all_gather(mine, limit);
  }
  std::vector<Bytes> all_to_all(std::span<const Bytes> mine,
                                std::chrono::milliseconds limit) override {
    return client_->all_to_all(mine, limit);
  }

  int failure_fd() const noexcept override { return epoll_; }
  std::optional<std::uint32_t> next_failed() noexcept override;

  bool relays() const noexcept override { return true; }
  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    client_->send(to, bytes);
  }
  std::optional<Letter> next_letter() noexcept override { return client_->next_letter(); }
  void goodbye() noexcept override;

 private:
  void watch(int fd);

  std::unique_ptr<PmixJob> job_;
  std::unique_ptr<rendezvous::RendezvousThread> server_;
  std::unique_ptr<Bootstrap> client_;
  int epoll_;
  std::atomic<bool> leaves_{false};
  /// The rendezvous has ended, and whether next_failed() has said so.
  bool lost_ = false;
  bool lost_was_told_ = false;
};

}  // namespace dsfabric
