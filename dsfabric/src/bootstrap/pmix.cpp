// SPDX-License-Identifier: MIT
// The bootstrap of processes started by mpirun, prun or srun: PMIx, where it is built in.
#include "bootstrap/bootstrap.hpp"

#if !defined(CARIAMA_WITH_PMIX)

namespace dsfabric {

std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions&) { return nullptr; }

}  // namespace dsfabric

#else

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "bootstrap/environment.hpp"
#include "bootstrap/pmix_job.hpp"
#include "bootstrap/pmix_rendezvous.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

/// Of jobs whose processes do not all reach a rendezvous: it carries no letters.
class Pmix final : public Bootstrap {
 public:
  Pmix(std::unique_ptr<PmixJob> job, const BootstrapOptions& options) : job_(std::move(job)) {
    compare_builds(options);
  }

  std::uint32_t rank() const noexcept override { return job_->rank(); }
  std::uint32_t size() const noexcept override { return job_->size(); }
  std::string name() const override { return "PMIx"; }

  std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                std::chrono::milliseconds limit) override {
    return job_->all_gather(mine, limit);
  }

  int failure_fd() const noexcept override { return job_->news_fd(); }
  std::optional<std::uint32_t> next_failed() noexcept override { return job_->next_ended(); }

 private:
  void compare_builds(const BootstrapOptions& options) {
    const auto all = all_gather(std::as_bytes(std::span(options.build)), options.start_timeout);
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      const std::string theirs(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
      if (theirs == options.build) continue;
      throw dtutils::Error(
          "PMIx launcher",
          fmt::format("the builds differ: rank {} is \"{}\", this process, rank {}, is "
                      "\"{}\"",
                      rank, theirs, this->rank(), options.build),
          "start all processes of a job from one build");
    }
  }

  std::unique_ptr<PmixJob> job_;
};

}  // namespace

std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions& options) {
  // Without them PMIx_Init would make a job of one by itself.
  for (const char* const variable : kPmixVariables) {
    if (std::getenv(variable) == nullptr) return nullptr;
  }
  auto job = std::make_unique<PmixJob>();
  if (auto meeting = meet_at_process_0(*job, options)) {
    return std::make_unique<PmixRendezvous>(std::move(job), std::move(*meeting));
  }
  return std::make_unique<Pmix>(std::move(job), options);
}

}  // namespace dsfabric

#endif
