// SPDX-License-Identifier: MIT
// Asking the keeper of a detached job.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "job_directory.hpp"

namespace run {

/// A request that is on its way.
class Question {
 public:
  /// Throws dtutils::Error when there is no such job, or its keeper was killed.
  Question(const JobDirectory& directory, const std::string& name, const std::string& request);
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question();

  /// Whether the answer begins within the time.
  bool is_answered(std::chrono::milliseconds limit) const;
  /// All of it. Throws dtutils::Error when it does not come within the time, the keeper ends
  /// without it, or it says that it refuses.
  nlohmann::ordered_json answer(std::chrono::milliseconds limit);

 private:
  [[noreturn]] void refuse(const std::string& what, int code = 0) const;

  const JobDirectory& directory_;
  const std::string name_;
  JobDirectory::Found job_;
  int fd_ = -1;
};

/// A request and its answer within five seconds.
nlohmann::ordered_json ask(const JobDirectory& directory, const std::string& name,
                           const std::string& request);

}  // namespace run
