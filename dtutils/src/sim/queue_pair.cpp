// SPDX-License-Identifier: MIT
// A simulated queue pair: posts, and the way to the peer and back.
#include "sim/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dtutils/limits.hpp"
#include "sim/device.hpp"
#include "software/copy.hpp"
#include "software/requests.hpp"
#include "software/rnr_timer.hpp"

namespace dtutils::sim {

using namespace software;

namespace {

/// Between the two parts of a torn write.
constexpr std::uint64_t kLongestTear = 3'000;

/// Bytes on the wire take so long.
Time wire_time(const NetworkModel& model, std::uint64_t bytes) noexcept {
  const std::uint64_t packets = bytes == 0 ? 1 : (bytes + model.mtu - 1) / model.mtu;
  return static_cast<Time>((bytes + packets * model.header) * 1000 /
                           std::max(model.bytes_per_us, 1u));
}

/// What leaves with a request.
std::uint64_t sent_bytes(const Request& request) noexcept {
  return brings_data(request.work.opcode) ? 0 : request.length;
}

ReceiveQueue* receives_of(const ibv_qp_init_attr& attributes, ReceiveQueue& own) noexcept {
  return attributes.srq == nullptr ? &own
                                   : &reinterpret_cast<SharedReceiveQueue*>(attributes.srq)->queue;
}

}  // namespace

QueuePair::QueuePair(SimDevice& device, const ibv_qp_init_attr& attributes, std::uint32_t pd)
    : device_(device),
      world_(device.world()),
      serial_(world_.add(*this)),
      pd_(pd),
      send_depth_(attributes.cap.max_send_wr),
      max_sge_(std::max(attributes.cap.max_send_sge, 1u)),
      max_inline_(attributes.cap.max_inline_data),
      signal_all_(attributes.sq_sig_all != 0),
      send_completions_(*reinterpret_cast<CompletionQueue*>(attributes.send_cq)),
      receive_completions_(*reinterpret_cast<CompletionQueue*>(attributes.recv_cq)),
      own_receives_{std::max(attributes.cap.max_recv_wr, 1u),
                    std::max(attributes.cap.max_recv_sge, 1u),
                    pd,
                    {}},
      receives_(receives_of(attributes, own_receives_)) {}

QueuePair::~QueuePair() {
  reset();
  world_.remove(serial_);
}

void QueuePair::schedule(Time at, Happening what) noexcept {
  world_.push(at, what, serial_, epoch_);
}

int QueuePair::post_send(ibv_send_wr* request, ibv_send_wr** bad) noexcept {
  const bool simulated = World::current() == &world_;
  if (simulated) world_.may_be_interrupted();
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (const int code = post_one(*request); code != 0) return code;
  }
  if (simulated) world_.may_be_interrupted();
  return 0;
}

int QueuePair::post_one(const ibv_send_wr& request) noexcept {
  if (World::current() != &world_) return EPERM;
  if (state_ != IBV_QPS_RTS && state_ != IBV_QPS_ERR) return EINVAL;
  if (posted_ - retired_ >= send_depth_) return ENOMEM;
  if (!is_valid(request, {max_sge_, max_inline_, given_.max_rd_atomic != 0})) return EINVAL;
  world_.used_adapter();
  const Time begin = world_.time();
  world_.charge(world_.options.model.post);
  Request& mine = requests_.push();
  mine.work = request;
  mine.work.next = nullptr;
  mine.elements.assign(request.sg_list, request.sg_list + request.num_sge);
  mine.length = total_length(request);
  mine.position = posted_++;
  mine.status = IBV_WC_SUCCESS;
  mine.vendor_error = kNoVendorError;
  mine.done = mine.was_lost = mine.was_refused = mine.torn = false;
  mine.unanswered = mine.not_ready = 0;
  mine.bytes.clear();
  if (world_.trace() != nullptr) show_post(mine, begin);
  if ((request.send_flags & IBV_SEND_INLINE) != 0) {
    for (const ibv_sge& element : mine.elements) {
      const auto* from = reinterpret_cast<const std::byte*>(element.addr);
      mine.bytes.insert(mine.bytes.end(), from, from + element.length);
    }
  }
  if (state_ == IBV_QPS_ERR) {
    mine.done = true;
    mine.status = std::exchange(next_failure_, IBV_WC_WR_FLUSH_ERR);
    mine.vendor_error = vendor_error_;
    complete(mine, mine.status);
    requests_.clear();
    issued_ = arrived_ = landed_ = executed_ = answered_ = completed_ = posted_;
    return 0;
  }
  kick();
  return 0;
}

int QueuePair::post_receive(ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  *bad = request;
  if (World::current() != &world_) return EPERM;
  if (verbs.srq != nullptr || state_ == IBV_QPS_RESET) return EINVAL;
  const int code = own_receives_.post(request, bad);
  if (state_ == IBV_QPS_ERR) flush_receives();
  return code;
}

void QueuePair::kick() noexcept {
  const NetworkModel& model = world_.options.model;
  Node& node = device_.node();
  Time at = std::max({world_.time() + model.doorbell.count(), last_issue_, node.issues}) +
            model.issue.count();
  if (node.connections.misses(serial_, model.cached_connections)) {
    at += model.connection_miss.count();
  }
  node.issues = last_issue_ = at;
  schedule(at, Happening::kIssue);
}

void QueuePair::happen(Happening what, std::uint64_t epoch) noexcept {
  if (epoch != epoch_) return;
  switch (what) {
    case Happening::kIssue:
      return issue();
    case Happening::kArrive:
      return arrive();
    case Happening::kLand:
      ++landed_;
      return execute_landed();
    case Happening::kRest:
      return rest();
    case Happening::kRetry:
      blocked_ = false;
      return execute_landed();
    default:
      return answer();
  }
}

void QueuePair::issue() noexcept {
  if (halted_ || issued_ == posted_) return;
  Request& request = at(issued_);
  const bool brings = brings_data(request.work.opcode);
  const bool fenced = (request.work.send_flags & IBV_SEND_FENCE) != 0;
  if (stalled_ != 0 || (fenced && answers_due_ != 0) ||
      (brings && answers_due_ >= given_.max_rd_atomic)) {
    ++stalled_;
    if (world_.trace() != nullptr) show("stall", "a request waits for the answers of others");
    return;
  }
  ++issued_;
  const bool is_inline = (request.work.send_flags & IBV_SEND_INLINE) != 0;
  if (!is_inline && !may_use(request, brings)) {
    halted_ = true;
    request.status = IBV_WC_LOC_PROT_ERR;
    request.done = true;
    return complete_done();
  }
  const NetworkModel& model = world_.options.model;
  Node& node = device_.node();
  Time ready = world_.time();
  if (!is_inline && !brings && request.length != 0) {
    for (const ibv_sge& element : request.elements) {
      const auto* from = reinterpret_cast<const std::byte*>(element.addr);
      request.bytes.insert(request.bytes.end(), from, from + element.length);
    }
    ready += model.fetch.count();
  }
  if (brings) ++answers_due_;
  const Time begin = std::max(ready, node.sends);
  node.sends = begin + wire_time(model, sent_bytes(request)) + model.gap.count();
  last_arrival_ = std::max(last_arrival_, begin + round_trip_part());
  schedule(last_arrival_, Happening::kArrive);
}

/// From one adapter to the other one.
Time QueuePair::round_trip_part() noexcept {
  SimDevice* const other = world_.device(SimDevice::number_of(given_.ah_attr.grh.dgid));
  return world_.options.model.adapter.count() +
         world_.path(device_.node(), other != nullptr ? other->node() : device_.node());
}

void QueuePair::arrive() noexcept {
  const NetworkModel& model = world_.options.model;
  const Time takes = wire_time(model, sent_bytes(at(arrived_++)));
  SimDevice* const other = world_.device(SimDevice::number_of(given_.ah_attr.grh.dgid));
  Node& there = other != nullptr ? other->node() : device_.node();
  const Time last_byte = std::max(world_.time(), there.receives) + takes;
  there.receives = last_byte + model.gap.count();
  schedule(last_byte + model.adapter.count() + model.land.count(), Happening::kLand);
}

void QueuePair::execute_landed() noexcept {
  while (state_ == IBV_QPS_RTS && !blocked_ && executed_ < landed_) {
    Request& request = at(executed_);
    settle(request, execute(request));
  }
}

void QueuePair::rest() noexcept {
  Request& request = at(executed_);
  blocked_ = false;
  settle(request, execute_rest(request));
  execute_landed();
}

void QueuePair::settle(Request& request, Outcome outcome) noexcept {
  const NetworkModel& model = world_.options.model;
  const Time now = world_.time();
  if (world_.trace() != nullptr) show_outcome(request, outcome);
  Time answered_at = now + round_trip_part() + model.adapter.count() + model.land.count();
  switch (outcome) {
    case Outcome::kTorn:
      blocked_ = true;
      return schedule(now + 1 + static_cast<Time>(world_.random.below(kLongestTear)),
                      Happening::kRest);
    case Outcome::kNotReady: {
      blocked_ = true;
      const bool for_ever = given_.rnr_retry == kRnrRetryForEver;
      if (for_ever || request.not_ready++ < given_.rnr_retry) {
        return schedule(answered_at + rnr_time_, Happening::kRetry);
      }
      request.status = IBV_WC_RNR_RETRY_EXC_ERR;
      break;
    }
    case Outcome::kNoAnswer: {
      blocked_ = true;
      const Time time_out = std::chrono::nanoseconds(retry_time(given_.timeout, 0)).count();
      if (request.unanswered++ < given_.retry_cnt) {
        return schedule(now + time_out, Happening::kRetry);
      }
      request.status = IBV_WC_RETRY_EXC_ERR;
      request.vendor_error = kNoAnswer;
      answered_at = now + time_out;
      break;
    }
    case Outcome::kFailed:
      // Those behind it are dropped.
      blocked_ = true;
      break;
    case Outcome::kDone:
      if (brings_data(request.work.opcode)) answered_at += bring_back(request);
      break;
  }
  ++executed_;
  last_answer_ = std::max(last_answer_, answered_at);
  schedule(last_answer_, Happening::kAnswer);
}

Time QueuePair::bring_back(const Request& request) noexcept {
  const NetworkModel& model = world_.options.model;
  // Its answer is an acknowledgement with eight bytes more, which takes no time on the wire.
  if (request.work.opcode != IBV_WR_RDMA_READ) return model.atomic.count();
  SimDevice* const other = world_.device(SimDevice::number_of(given_.ah_attr.grh.dgid));
  Node& there = other->node();
  const Time last_byte =
      std::max(world_.time() + model.fetch.count(), there.sends) + wire_time(model, request.length);
  there.sends = last_byte + model.gap.count();
  return last_byte - world_.time();
}

}  // namespace dtutils::sim
