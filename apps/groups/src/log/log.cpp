// SPDX-License-Identifier: MIT
// The durable log as its users see it.
#include "groups/log.hpp"

#include <utility>

#include "log/writer.hpp"

namespace groups {

Log::Log(const LogOptions& options) : writer_(std::make_unique<detail::LogWriter>(options)) {}
Log::~Log() = default;

std::optional<std::uint64_t> Log::group_in(const std::string& folder) {
  const std::uint64_t group = detail::Segments::group_in(folder);
  return group == 0 ? std::nullopt : std::optional(group);
}

void Log::replay(std::uint64_t first, const std::function<void(const LogRecord&)>& take) const {
  writer_->segments_before_start().read(first, take);
}
const std::vector<LogView>& Log::views() const { return writer_->segments_before_start().views(); }
void Log::cut(std::uint64_t sequence) {
  writer_->segments_before_start().cut(sequence);
  writer_->reread();
}
void Log::restart_at(std::uint64_t sequence) {
  writer_->segments_before_start().restart_at(sequence);
  writer_->reread();
}
std::uint64_t Log::cut_bytes() const noexcept { return writer_->cut_bytes(); }

AppendStatus Log::try_append(std::uint64_t view, std::span<const std::byte> bytes) noexcept {
  return writer_->try_append(view, bytes);
}
void Log::on_persisted(std::function<void(std::uint64_t)> upcall) {
  writer_->upcall = std::move(upcall);
}
bool Log::poll() { return writer_->poll(); }
std::uint64_t Log::persisted() const noexcept { return writer_->persisted(); }
bool Log::failed() const noexcept { return writer_->failed(); }
std::string Log::why_failed() const { return failed() ? writer_->why() : std::string{}; }
void Log::truncate_before(std::uint64_t sequence) noexcept { writer_->truncate_before(sequence); }
LogExtent Log::extent() const noexcept { return writer_->extent(); }

}  // namespace groups
