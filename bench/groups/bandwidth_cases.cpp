// SPDX-License-Identifier: MIT
// Messages of one sender, beside writes of as many bytes through the same connection.
#include "bench/groups/group.hpp"
#include "dtutils/device_memory.hpp"

namespace groups_bench {
namespace {

/// Writes from process 0 to process 1, one message's bytes each, into as much memory as a ring has.
/// Process 1 may look at the last word of each, which counts, and at the first.
class Writes {
 public:
  void make(bench::Channel& channel, sst_bench::Node& node, std::uint32_t bytes) {
    node_ = &node;
    bytes_ = bytes;
    pieces_ = sst::detail::RingFormat(bytes, 0).slots;
    memory_ = node.fabric.general_allocator().allocate(std::size_t{pieces_} * bytes);
    std::memset(memory_.data(), 0, memory_.size());
    number_ = 0;
    there_ = channel.gather(memory_.remote())[1];
    channel.barrier();
  }
  void reset(bench::Channel& channel) {
    channel.barrier();
    memory_.reset();
  }

  double run(bench::Batch& batch, bool is_read) {
    if (batch.rank() > 1) return 0;
    const std::uint64_t end = number_ + batch.iterations();
    sst_bench::let_others_fall_asleep();
    if (batch.rank() == 0) {
      dtutils::Transmitter& transmitter = node_->group.transmitter({1});
      return batch.bytes_per_second(bytes_, [&] {
        while (number_ < end) {
          const std::size_t at = number_ % pieces_ * bytes_;
          ++number_;
          std::memcpy(memory_.data() + at, &number_, sizeof number_);
          std::memcpy(memory_.data() + at + bytes_ - sizeof number_, &number_, sizeof number_);
          require(transmitter.write(memory_.local(at, bytes_), there_.part(at, bytes_)),
                  "process 1 is gone");
        }
        require(transmitter.flush(), "process 1 is gone");
      });
    }
    for (; number_ < end; ++number_) {
      if (!is_read) continue;
      const std::byte* const at = memory_.data() + number_ % pieces_ * bytes_;
      const auto word = [&](std::size_t offset) {
        return dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(at + offset));
      };
      while (word(bytes_ - sizeof number_) <= number_) {
      }
      require(word(0) > number_, "bytes of one write were placed out of order");
    }
    return 0;
  }

 private:
  sst_bench::Node* node_ = nullptr;
  std::uint32_t bytes_ = 0;
  std::uint32_t pieces_ = 0;
  dtutils::RDMAMemory memory_;
  dtutils::RemoteMemoryLocator there_{};
  std::uint64_t number_ = 0;
};

void add_size(bench::Suite& suite, const NodePtr& node, std::uint32_t bytes) {
  const auto group = std::make_shared<Group>();
  const auto writes = std::make_shared<Writes>();
  const auto multicast = [=](bench::Batch& batch) { return stream(*group, batch) * bytes; };
  const auto unread = [=](bench::Batch& batch) { return writes->run(batch, false); };
  const auto read = [=](bench::Batch& batch) { return writes->run(batch, true); };
  suite.add({.name = "multicast_bandwidth",
             .size = bytes,
             .unit = bench::Unit::kBytesPerSecond,
             .variants = {{.name = "multicast", .measure = multicast, .assist = multicast},
                          {.name = "writes", .measure = unread, .assist = unread},
                          {.name = "read_writes", .measure = read, .assist = read}},
             .ratios = {{.over = "multicast", .under = "writes", .bar = ">= 0.6"},
                        {.over = "multicast", .under = "read_writes"}},
             .prepare =
                 [=, &node](bench::Channel& channel) {
                   group->make(*node, 2, bytes, sst::Order::kUnordered, {{0}});
                   writes->make(channel, *node, bytes);
                 },
             .finish =
                 [=](bench::Channel& channel) {
                   writes->reset(channel);
                   group->reset();
                 },
             .oversubscribed = true});
}

}  // namespace

void add_bandwidth_cases(bench::Suite& suite, const NodePtr& node) {
  add_size(suite, node, 1024);
  add_size(suite, node, 10240);
}

}  // namespace groups_bench
