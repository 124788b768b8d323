// SPDX-License-Identifier: MIT
// PackedTable: changes on their way to their home, which takes them out of its memory.
#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "hashtable/detail/packed_table.hpp"
#include "record_changes.hpp"
#include "staged.hpp"

namespace hashtable::detail {

void PackedTable::stage(std::vector<std::uint64_t>& staged, Operation operation,
                        std::span<const std::byte> key, std::span<const std::byte> value,
                        const Piece* seen) const {
  staged.push_back(static_cast<std::uint64_t>(operation) | (seen != nullptr ? kHasPiece : 0));
  staged.push_back(key_of(key));
  if (seen != nullptr) staged.insert(staged.end(), seen->begin(), seen->end());
  append_record(staged, key, value);
}

void PackedTable::send_staged(std::uint32_t home) {
  const std::uint64_t place = table_.home().staging_of(table_.rank());
  table_.port(home).write_words(place, staged_.data(), staged_.size());
  const auto there = [at = table_.home_at(home), rank = static_cast<std::uint16_t>(home), place,
                      count = staged_.size()](dsfabric::CallContext& call) {
    Home& its = *at.get(call.fabric);
    return apply(its, rank, {its.words() + place, count});
  };
  const dsfabric::ThreadId to = table_.thread_of(home);
  if (options_.mode == Mode::kByCall) {
    last_.push_back(table_.calls().call_return(to, there));
  } else {
    dsfabric::SendChannel channel(table_.self().fabric());
    last_.push_back(channel.call_return(dsfabric::ThreadId::service_of(to.process), there));
  }
}

auto PackedTable::apply(Home& home, std::uint16_t rank, Words staged) -> Answers {
  Answers answers{};
  for (std::uint32_t i = 0; !staged.empty(); ++i) {
    const Words head = take(staged, 2);
    Piece seen{};
    const bool checks = (head[0] & kHasPiece) != 0;
    if (checks) std::ranges::copy(take(staged, seen.size()), seen.begin());
    const Record record = Record::take(staged);
    const std::scoped_lock lock(home.changes());
    answers[i] = change_record(home, rank, static_cast<Operation>(head[0] & 0xff), head[1], record,
                               checks ? &seen : nullptr);
  }
  return answers;
}

Status PackedTable::change(Operation operation, std::span<const std::byte> key,
                           std::span<const std::byte> value, const Piece* seen) {
  check_size(key.size() + value.size());
  staged_.clear();
  stage(staged_, operation, key, value, seen);
  const std::uint32_t home = table_.home_of({staged_[1]});
  if (home == table_.rank()) return apply(table_.home(), table_.rank(), staged_)[0];
  send_staged(home);
  const Status status = last_.front().get()[0];
  last_.clear();
  return status;
}

}  // namespace hashtable::detail
