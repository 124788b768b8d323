// SPDX-License-Identifier: MIT
// Node: joining over the bench's own channel, and handing work over.
#include "bench/fabric/node.hpp"

#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "bench/fabric/channel_bootstrap.hpp"

namespace fabric_bench {
namespace {

constexpr std::chrono::microseconds kTimeToFallAsleep{200};

}  // namespace

Node::Node(bench::Channel& channel, const std::string& device, std::uint32_t threads)
    : threads_(threads) {
  dsfabric::Config config;
  config.device = device;
  config.threads = threads;
  config.pin = false;
  fabric_.reset(
      new dsfabric::Fabric(dsfabric::join(std::make_unique<ChannelBootstrap>(channel), config)));
  runner_ = std::thread([this] { fabric_->run([this](dsfabric::Thread& self) { serve(self); }); });
}

Node::~Node() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  runner_.join();
}

double Node::run(const std::function<double(dsfabric::Thread&)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  ++round_;
  running_ = threads_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return figure_;
}

void Node::serve(dsfabric::Thread& self) {
  std::uint64_t served = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || round_ != served; });
      if (stop_) return;
      served = round_;
    }
    // The main thread shares this core. Awake, it would wait for the core during the batch, and the
    // harness would take the batch for disturbed.
    std::this_thread::sleep_for(kTimeToFallAsleep);
    double figure = 0;
    std::exception_ptr error;
    try {
      figure = (*work_)(self);
    } catch (...) {
      error = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    if (self.id().index == 0) figure_ = figure;
    if (error) error_ = error;
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace fabric_bench
