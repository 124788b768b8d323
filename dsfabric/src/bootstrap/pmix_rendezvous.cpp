// SPDX-License-Identifier: MIT
// PmixRendezvous: how its processes meet, and who tells of ends.
#if defined(CARIAMA_WITH_PMIX)

#include "bootstrap/pmix_rendezvous.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "bootstrap/frame.hpp"
#include "bootstrap/own_host_name.hpp"
#include "bootstrap/proof.hpp"
#include "dtutils/error.hpp"
#include "dtutils/tcp.hpp"

namespace dsfabric {
namespace {

using rendezvous::RendezvousThread;
using namespace std::chrono_literals;

/// For one of several addresses: the others must have their turn before the job gives up.
constexpr std::chrono::milliseconds kPatience = 2s;

/// What process 0 publishes; without addresses it has no rendezvous.
struct Place {
  std::string secret;
  std::string host;
  std::vector<std::string> addresses;

  Bytes bytes() const {
    rendezvous::Writer writer;
    writer.text(secret).text(host);
    for (const std::string& address : addresses) writer.text(address);
    return writer.take();
  }
  static Place of(const Bytes& bytes) {
    rendezvous::Reader reader(bytes);
    Place place{reader.text().value_or(""), reader.text().value_or(""), {}};
    while (const auto address = reader.text()) place.addresses.push_back(*address);
    return place;
  }
};

std::unique_ptr<RendezvousThread> open_rendezvous(const PmixJob& job, Place& place) try {
  place.secret = rendezvous::make_secret();
  place.host = rendezvous::own_host_name();
  auto server = std::make_unique<RendezvousThread>(job.size(), place.secret,
                                                   job.on_one_host() ? "127.0.0.1" : "0.0.0.0");
  if (!job.on_one_host()) place.addresses = dtutils::own_ipv4_addresses();
  place.addresses.insert(place.addresses.begin(), "127.0.0.1");
  for (std::string& address : place.addresses) address += fmt::format(":{}", server->port());
  return server;
} catch (const dtutils::Error&) {
  place = {};
  return nullptr;
}

std::unique_ptr<Bootstrap> reach(const PmixJob& job, const Place& place, BootstrapOptions options) {
  options.start_timeout = std::min(options.start_timeout, kPatience);
  const bool here = place.host == rendezvous::own_host_name();
  for (const std::string& address : place.addresses) {
    // The first one is that of the loopback interface.
    if (!here && &address == &place.addresses.front()) continue;
    try {
      return accept_invitation({address, place.secret, job.rank(), job.size()}, options);
    } catch (const dtutils::Error&) {
      // Another host of the same name, a network that is not shared, a firewall; or another build,
      // of which they all hear when they join without letters.
    }
  }
  return nullptr;
}

}  // namespace

std::optional<MeetingAtProcess0> meet_at_process_0(PmixJob& job, const BootstrapOptions& options) {
  if (job.size() == 1) return std::nullopt;
  MeetingAtProcess0 meeting;
  Place place;
  if (job.rank() == 0) meeting.server = open_rendezvous(job, place);
  const Bytes published = job.all_gather(place.bytes(), options.start_timeout).front();
  meeting.client = reach(job, Place::of(published), options);
  const std::byte reached{meeting.client != nullptr};
  const auto all = job.all_gather({&reached, 1}, options.start_timeout);
  if (!std::ranges::all_of(all, [](const Bytes& each) { return each == Bytes{std::byte{1}}; })) {
    return std::nullopt;
  }
  return meeting;
}

PmixRendezvous::PmixRendezvous(std::unique_ptr<PmixJob> job, MeetingAtProcess0 meeting)
    : job_(std::move(job)),
      server_(std::move(meeting.server)),
      client_(std::move(meeting.client)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) {
    throw dtutils::Error("PMIx launcher", "epoll is not to be had", "raise `ulimit -n`", errno);
  }
  watch(client_->failure_fd());
  if (server_) watch(job_->news_fd());
}

PmixRendezvous::~PmixRendezvous() {
  client_.reset();
  if (server_ && leaves_.load()) server_->wait_for_all();
  close(epoll_);
}

void PmixRendezvous::watch(int fd) {
  epoll_event event{EPOLLIN, {}};
  // Where the kernel has no memory for it, the failure detector finds ends by itself.
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

std::optional<std::uint32_t> PmixRendezvous::next_failed() noexcept {
  if (server_) {
    while (const auto ended = job_->next_ended()) {
      if (*ended < size()) server_->tell_of_end(*ended);
    }
  }
  if (const auto failed = client_->next_failed()) {
    if (*failed < size()) return failed;
    // Process 0 stays until all others have left.
    if (leaves_.load()) return std::nullopt;
    lost_ = true;
    if (server_) return std::nullopt;
    watch(job_->news_fd());
    return 0;
  }
  if (!lost_) return std::nullopt;
  if (!std::exchange(lost_was_told_, true)) return size();
  return server_ ? std::nullopt : job_->next_ended();
}

void PmixRendezvous::goodbye() noexcept {
  leaves_.store(true);
  client_->goodbye();
}

}  // namespace dsfabric

#endif
