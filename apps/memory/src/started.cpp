// SPDX-License-Identifier: MIT
// Operations that were started: their steps, and who is told of their ends.
#include <algorithm>
#include <cstring>

#include "client_state.hpp"

namespace memory::detail {

using Step = Operation::Step;

void ClientState::start(Operation& operation) {
  operation.resend = {};
  started.push_back(&operation);
}

void ClientState::begin_read(Operation& operation, ReadMode mode) {
  const Place& place = operation.place;
  operation.direct = false;
  operation.tries = {};
  operation.request.first = place.first;
  operation.request.second = operation.bytes;
  operation.caches = mode != ReadMode::kValidated && cache.takes(place.length);
  if (operation.caches) {
    const Cache::Entry* const entry = cached(place);
    if (mode == ReadMode::kSubscribed && entry != nullptr && entry->is_current()) {
      ++counters.hits;
      std::memcpy(operation.into, entry->data.get() + place.first, operation.bytes);
      return end(operation, Status::kDone);
    }
    if (entry != nullptr) {
      operation.step = Step::kVersion;
      operation.transmitter = &transmitter(place);
      if (!post_head(operation, place)) end(operation, Status::kHomeFailed);
      return;
    }
    ++counters.misses;
    // The whole segment, for the cache.
    operation.request.first = 0;
    operation.request.second = place.length;
  }
  (void)read_again(operation);
}

bool ClientState::read_again(Operation& operation) {
  operation.step = Step::kRead;
  if (post_read(operation, operation.place, {operation.request.first, operation.request.second})) {
    return true;
  }
  end(operation, Status::kHomeFailed);
  return false;
}

bool ClientState::step(Operation& operation) {
  const Place& place = operation.place;
  switch (operation.step) {
    case Step::kEnded:
      return true;
    case Step::kCallAgain:
      if (!operation.resend.due()) return false;
      operation.call(*this, operation);
      return operation.step == Step::kEnded;
    case Step::kCall: {
      if (!operation.slot->done()) return false;
      Answer answer{0, Status::kHomeFailed};
      try {
        answer = operation.slot->get();
      } catch (const dsfabric::PeerFailed&) {
        // As it stands.
      } catch (const dtutils::Error&) {
        answer.status = Status::kNoMemory;  // the only exception of a request
      }
      if (answer.status == Status::kAgain) {
        operation.resend.sent_back();
        operation.step = Step::kCallAgain;
        return false;
      }
      if (operation.into != nullptr) {
        std::memcpy(operation.into, &answer.value, sizeof answer.value);
      }
      end(operation, answer.status);
      return true;
    }
    case Step::kExamined:
      if (operation.status == Status::kAgain) return false;
      if (operation.status != Status::kDone) {
        end(operation, operation.status);
        return true;
      }
      return !read_again(operation);
    default:
      break;
  }
  if (!operation.arrived.done()) {
    operation.transmitter->progress();
    if (!operation.arrived.done()) return false;
  }
  if (operation.arrived.failures() != 0) {
    end(operation, Status::kHomeFailed);
    return true;
  }
  if (operation.step == Step::kPlain) {
    const Status status = judge_plain(operation, place);
    if (operation.brings && status == Status::kDone) {
      std::memcpy(operation.into, operation.scratch.data() + kPlainData, operation.bytes);
    }
    end(operation, status);
    return true;
  }
  if (operation.step == Step::kVersion) {
    const Cache::Entry* const entry = cached(place);
    const std::uint64_t now = Head::at(operation.scratch.data()).version;
    if (entry != nullptr && entry->version == now) {
      ++counters.hits;
      std::memcpy(operation.into, entry->data.get() + place.first, operation.bytes);
      end(operation, Status::kDone);
      return true;
    }
    ++counters.misses;
    operation.request.first = 0;
    operation.request.second = place.length;
    return !read_again(operation);
  }
  const Range range{operation.request.first, operation.request.second};
  std::uint64_t version = 0;
  const Status status = decode(operation, place, range, version);
  if (status == Status::kAgain) {
    ++counters.repeated;
    if (!operation.tries.ask_after(version)) return !read_again(operation);
    examine(operation);
    return false;
  }
  if (status == Status::kDone) {
    if (operation.caches) cache_whole(operation, place, version);
    copy_part(operation, place, range, {place.first, operation.bytes}, operation.into);
  }
  end(operation, status);
  return true;
}

bool ClientState::progress() {
  if (progressing || started.empty()) return false;
  progressing = true;
  const struct Over {
    bool& flag;
    ~Over() { flag = false; }
  } over{progressing};
  bool any = false;
  for (std::size_t i = 0; i < started.size();) {
    Operation& operation = *started[i];
    if (!step(operation)) {
      ++i;
      continue;
    }
    any = true;
    started[i] = started.back();
    started.pop_back();
    if (operation.frees_word != nullptr) free_words.push_back(operation.frees_word);
    operation.frees_word = nullptr;
    const Completion completion = operation.completion;
    const Status status = operation.status;
    give_back(operation);
    completion(status);
  }
  return any;
}

void ClientState::serve() {
  if (progress()) return idle.reset();
  pause(idle);
}

}  // namespace memory::detail
