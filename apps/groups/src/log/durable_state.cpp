// SPDX-License-Identifier: MIT
// Checkpoint and log of one member.
#include "groups/durable_state.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "groups/checkpoint.hpp"
#include "log/checkpoint_writer.hpp"
#include "log/files.hpp"

namespace groups {

DurableState::DurableState(const DurableOptions& options, DurableUpcalls upcalls)
    : options_(options),
      upcalls_(std::move(upcalls)),
      had_log_(std::filesystem::exists(marker())),
      log_(options.log),
      checkpoints_(std::make_unique<detail::CheckpointWriter>(options.log.folder)) {
  if (auto found = read_checkpoint(options.log.folder, options.log.group)) {
    had_log_ = true;
    checkpoint_view_ = found->head.view;
    checkpoint_state_ = std::move(found->state);
    checkpoints_->set_durable(found->head.next);
    // A log that ends before it, or in an earlier view, has nothing that is not in it.
    const LogExtent log = log_.extent();
    if (log.end < found->head.next || log.view < found->head.view) {
      log_.restart_at(found->head.next);
    }
  }
  if (log_.extent().first > checkpoint()) {
    throw dtutils::Error(
        options.log.folder,
        fmt::format("the log begins with record {}, and there is no checkpoint of all before it",
                    log_.extent().first),
        "move this folder away, so that the member gets its state from the others");
  }
}

DurableState::~DurableState() = default;

std::uint64_t DurableState::checkpoint() const noexcept { return checkpoints_->durable(); }

bool DurableState::failed() const noexcept {
  return log_.failed() || (!checkpoints_->busy() && !checkpoints_->why().empty());
}

std::string DurableState::why_failed() const {
  if (log_.failed()) return log_.why_failed();
  return checkpoints_->busy() ? std::string{} : checkpoints_->why();
}

void DurableState::replay(std::uint64_t end) {
  if (checkpoint() != 0) upcalls_.restore(checkpoint_state_);
  checkpoint_state_ = {};
  log_.replay(checkpoint(), [&](const LogRecord& record) {
    if (record.sequence < end) upcalls_.apply(record);
  });
}

void DurableState::replace(std::span<const std::byte> state, std::uint64_t view,
                           std::uint64_t next) {
  upcalls_.restore(state);
  write_checkpoint(options_.log.folder, {options_.log.group, view, next}, state);
  checkpoints_->set_durable(next);
  checkpoint_view_ = view;
  log_.restart_at(next);
}

void DurableState::append_record(std::uint64_t view, std::span<const std::byte> bytes) {
  dtutils::Backoff backoff;
  AppendStatus status;
  while ((status = log_.try_append(view, bytes)) == AppendStatus::kFull) backoff.pause();
  // Without it the log would not be what was delivered, and nobody would know.
  if (status == AppendStatus::kTooLarge) {
    throw dtutils::Error(
        options_.log.folder,
        fmt::format("a message of {} bytes is larger than half of the log's buffer of {}",
                    bytes.size(), options_.log.buffer),
        "give a larger LogOptions::buffer, at least twice the largest message and its head");
  }
  appended_bytes_ += bytes.size();
}

std::string DurableState::marker() const { return options_.log.folder + "/member"; }

void DurableState::mark() {
  if (had_log_) return;
  const detail::File file(marker(), O_WRONLY | O_CREAT);
  detail::sync_folder(options_.log.folder);
  had_log_ = true;
}

void DurableState::wait_for_log() {
  dtutils::Backoff backoff;
  while (!log_.failed() && log_.persisted() < log_.extent().end) backoff.pause();
  if (log_.failed()) {
    throw dtutils::Error(options_.log.folder, log_.why_failed(), "make room, and start again");
  }
}

void DurableState::append(const Delivery& message) {
  if (!failed()) append_record(message.view, message.bytes);
}

void DurableState::applied(std::uint64_t view, std::uint64_t sequence) {
  if (failed() || appended_bytes_ < options_.checkpoint_every || checkpoints_->busy()) return;
  appended_bytes_ = 0;
  checkpoints_->begin({options_.log.group, view, sequence + 1}, upcalls_.snapshot());
}

bool DurableState::poll() {
  bool did = log_.poll();
  if (checkpoints_->finished()) {
    if (checkpoints_->why().empty()) log_.truncate_before(checkpoints_->durable());
    did = true;
  }
  return did;
}

}  // namespace groups
