// SPDX-License-Identifier: MIT
// PackedTable: many operations at once.
#include <algorithm>
#include <array>
#include <vector>

#include "hashtable/detail/packed_table.hpp"

namespace hashtable::detail {
namespace {

/// Words of pieces that are read together from one home, at most; 512 KiB.
constexpr std::size_t kTogether = 64 << 10;

/// A piece that is being read.
struct Run {
  PackedItem* item;
  std::uint64_t key;
  Piece named;
  std::uint32_t home;
  /// Where its words come, in those of its port.
  std::size_t at;
};

/// What a piece says of the key of an item.
void conclude(PackedItem& item, std::span<const std::uint64_t> piece, const Piece& named) {
  const Record record = Record::find(piece, item.key);
  if (record.words.empty()) {
    item.status = Status::kMissing;
    return;
  }
  item.status = Status::kDone;
  item.value.assign(record.value().begin(), record.value().end());
  item.piece = named;
}

}  // namespace

void PackedTable::perform(std::span<PackedItem* const> items) {
  std::vector<PackedItem*> finds;
  std::vector<PackedItem*> changes;
  for (PackedItem* const item : items) item->status = Status::kAgain;
  for (PackedItem* const item : items) {
    if (item->operation == Operation::kFind) {
      finds.push_back(item);
    } else {
      check_size(item->key.size() + item->value.size());
      changes.push_back(item);
    }
  }
  for (std::size_t at = 0; at < finds.size(); at += kInFlight) {
    find_together(
        std::span(finds).subspan(at, std::min<std::size_t>(kInFlight, finds.size() - at)));
  }
  if (!changes.empty()) change_together(changes);
}

void PackedTable::find_together(std::span<PackedItem* const> items) {
  std::array<Table::Item, kInFlight> slots{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    slots[i].request = {Operation::kFind, 0, 0, {key_of(items[i]->key)}, {}};
  }
  table_.perform(std::span(slots).first(items.size()));

  std::vector<Run> runs;
  std::vector<Run> alone;
  std::vector<std::size_t> words(table_.parts());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& request = slots[i].request;
    items[i]->status = slots[i].status;
    if (slots[i].status != Status::kDone) continue;
    const std::uint32_t home = table_.home_of(request.key);
    const Run run{items[i], request.key[0], request.value, home, words[home]};
    const std::size_t count = request.value[1];
    if (home == table_.rank() || run.at + count > kTogether) {
      alone.push_back(run);
    } else {
      words[home] += count;
      runs.push_back(run);
    }
  }
  for (std::uint32_t home = 0; home < table_.parts(); ++home) {
    if (words[home] != 0) table_.port(home).expect_words(words[home]);
  }
  for (const Run& run : runs) {
    table_.port(run.home).start_words(run.named[0], run.at, run.named[1]);
  }
  for (const Run& run : runs) table_.port(run.home).start_last();
  const RemotePort* failed = nullptr;
  for (const Run& run : runs) {
    if (!table_.port(run.home).drain()) failed = &table_.port(run.home);
  }
  if (failed != nullptr) failed->throw_gone("a read");
  for (const Run& run : runs) {
    const std::span piece(table_.port(run.home).words(run.at), run.named[1]);
    if (check_bytes(piece.data(), piece.size()) == run.named[2]) {
      conclude(*run.item, piece, run.named);
    } else {  // it was changed after the slot was read
      alone.push_back(run);
    }
  }
  for (Run& run : alone) {
    if (fetch(run.key, run.named, piece_)) {
      conclude(*run.item, piece_, run.named);
    } else {
      run.item->status = Status::kMissing;
    }
  }
}

void PackedTable::change_together(std::span<PackedItem* const> items) {
  const Turn turn(*this);
  std::vector<std::vector<PackedItem*>> of(table_.parts());
  for (PackedItem* const item : items) {
    of[rank_of(item->key)].push_back(item);
  }
  // Stages what one call carries, from the item `at` on.
  const auto stage_from = [&](const std::vector<PackedItem*>& those, std::size_t at) {
    staged_.clear();
    std::size_t end = at;
    for (; end < std::min<std::size_t>(at + kCallBatch, those.size()); ++end) {
      const PackedItem& item = *those[end];
      const std::size_t before = staged_.size();
      stage(staged_, item.operation, item.key, item.value, item.checks ? &item.piece : nullptr);
      if (end != at && staged_.size() > table_.home().staging_words()) {
        staged_.resize(before);
        break;
      }
    }
    return end;
  };
  const auto answered = [](const std::vector<PackedItem*>& those, std::size_t at, std::size_t end,
                           const Answers& answers) {
    for (std::size_t i = at; i < end; ++i) those[i]->status = answers[i - at];
  };
  struct Sent {
    std::uint32_t home;
    std::size_t at;
    std::size_t end;
  };
  std::vector<std::size_t> next(table_.parts(), 0);
  std::vector<Sent> sent;
  do {
    sent.clear();
    for (std::uint32_t home = 0; home < table_.parts(); ++home) {
      const std::size_t at = next[home];
      if (home == table_.rank() || at == of[home].size()) continue;
      next[home] = stage_from(of[home], at);
      send_staged(home);
      sent.push_back({home, at, next[home]});
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      answered(of[sent[i].home], sent[i].at, sent[i].end, last_[i].get());
    }
    last_.clear();
  } while (!sent.empty());
  const std::vector<PackedItem*>& here = of[table_.rank()];
  for (std::size_t at = 0; at < here.size();) {
    const std::size_t end = stage_from(here, at);
    answered(here, at, end, apply(table_.home(), table_.rank(), staged_));
    at = end;
  }
}

void PackedTable::perform(std::span<PackedExchange* const> exchanges) {
  std::vector<PackedExchange*> open(exchanges.begin(), exchanges.end());
  std::vector<PackedItem*> items;
  while (!open.empty()) {
    items.clear();
    for (PackedExchange* const each : open) {
      each->item.operation = Operation::kFind;
      items.push_back(&each->item);
    }
    perform(items);
    items.clear();
    std::erase_if(open, [&](PackedExchange* each) {
      PackedItem& item = each->item;
      if (item.status == Status::kMissing) return true;
      if (item.value != each->expected) {
        item.status = Status::kDiffers;
        return true;
      }
      item.operation = Operation::kUpdate;
      item.checks = true;
      item.value = each->desired;
      items.push_back(&item);
      return false;
    });
    perform(items);
    std::erase_if(open, [](PackedExchange* each) { return each->item.status != Status::kDiffers; });
  }
}

}  // namespace hashtable::detail
