// SPDX-License-Identifier: MIT
// The device that a contract test runs on, and how long things may take on it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dtutils/device.hpp"
#include "dtutils/simulation.hpp"

namespace support {

/// What limits of whole jobs are multiplied with: a sanitizer slows a test down several times, and
/// more on a machine that has other work.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kSlowdown = 4;
#else
inline constexpr int kSlowdown = 1;
#endif

/// What a wait for something that must happen allows before it calls the test failed: emulated and
/// sanitized runs on a busy machine are slow.
inline constexpr std::chrono::milliseconds kPatience{20'000};

/// CARIAMA_TEST_DEVICE, or "shm".
std::string device_name();

/// Whether that is "sim".
bool on_simulated_device();
/// The simulation of such a test, whose threads are those of node 0. Whatever its network may do
/// wrong, it does now and then; CARIAMA_TEST_SEED, or 1, is its seed. The first call makes the
/// calling thread one of it.
dtutils::Simulation& simulation_under_test();
/// Opens that device.
std::unique_ptr<dtutils::Device> open_device_under_test();

/// The longest time until a request to a peer that is gone must have failed: 1 s on shm, which
/// notices it; the transport's retry time (ibv_modify_qp(3)) on verbs.
std::chrono::milliseconds failure_limit(const dtutils::Device& device);

/// True when the device notices the death of a peer to which nothing is being sent.
bool notices_idle_death(const dtutils::Device& device);

/// True when the device itself finds requests that ibv_post_send(3) forbids (READs and atomics
/// inline, messages that are too long): libibverbs' providers mostly trust the caller.
bool checks_requests(const dtutils::Device& device);

}  // namespace support
