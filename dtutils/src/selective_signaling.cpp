// SPDX-License-Identifier: MIT
// The relations among the parameters of selective signaling.
#include "dtutils/selective_signaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

/// Far more than any send queue holds, so that sums of these parameters fit into 32 bits.
constexpr std::uint32_t kMostRequests = 1u << 24;

/// W - T that n threads need, so that those which stop cannot hold all signaled tickets.
std::uint32_t needed_margin(std::uint32_t threads) noexcept { return 2 * threads - 1; }

[[noreturn]] void refuse(const std::string& happened, const std::string& remedy) {
  throw Error("selective signaling", happened, remedy);
}

}  // namespace

SignalingParameters SignalingParameters::for_threads(std::uint32_t threads) noexcept {
  SignalingParameters parameters;
  parameters.sharing_threads = threads;
  parameters.window = std::max(kWindow, kSignalAllFrom + needed_margin(threads));
  return parameters;
}

void SignalingParameters::check(std::uint32_t send_depth, std::uint32_t completion_depth) const {
  if (sharing_threads == 0) {
    refuse("sharing_threads is 0", "use the number of threads that will post, at least 1");
  }
  if (std::max({sharing_threads, signal_all_from, window}) > kMostRequests) {
    refuse(fmt::format("{} threads, a window of {} and signal_all_from {} are more than any send "
                       "queue holds",
                       sharing_threads, window, signal_all_from),
           fmt::format("keep each of them at most {}", kMostRequests));
  }
  if (!std::has_single_bit(signal_interval)) {
    refuse(fmt::format("signal_interval is {}, which is not a power of two", signal_interval),
           fmt::format("use {}", std::bit_ceil(signal_interval)));
  }
  if (signal_all_from == 0) {
    refuse("signal_all_from is 0", "use at least 1; 1 signals nearly every request");
  }
  if (window < signal_all_from || window - signal_all_from < needed_margin(sharing_threads)) {
    refuse(fmt::format("window {} is too close to signal_all_from {} for {} threads", window,
                       signal_all_from, sharing_threads),
           fmt::format("use a window of at least {}",
                       signal_all_from + needed_margin(sharing_threads)));
  }
  if (send_depth < needed_send_depth()) {
    refuse(fmt::format("the send queue holds {} requests, but {} threads with a window of {} can "
                       "have {} outstanding",
                       send_depth, sharing_threads, window, needed_send_depth()),
           fmt::format("use a send_depth of at least {}", needed_send_depth()));
  }
  if (completion_depth < needed_completion_depth()) {
    refuse(fmt::format("the completion queue holds {} entries, but {} requests can complete at "
                       "once when the queue pair breaks",
                       completion_depth, needed_completion_depth()),
           fmt::format("use a completion queue of at least {}", needed_completion_depth()));
  }
}

}  // namespace dtutils
