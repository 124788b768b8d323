// SPDX-License-Identifier: MIT
// Every setting of a fabric: the same name in code, in the environment and on the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsfabric {

/// The setting `receive_size` is this member, the environment variable CARIAMA_RECEIVE_SIZE and the
/// argument --cariama-receive-size=4096 (or with the value as the next argument). The command line
/// wins over the environment, which wins over code. Sizes take a suffix K, M or G (powers of 1024);
/// times are milliseconds; on/off settings take 1, 0, on, off, true, false.
struct Config {
  /// `shm`, `mlx5_0`, ..., or `auto`: CARIAMA_DEVICE, else the first usable verbs device, else shm.
  std::string device = "auto";
  /// Port of the device, from 1; 0: the first active one.
  std::uint32_t port = 0;
  /// Index into the port's GID table; -1: the best one.
  std::int32_t gid_index = -1;

  /// This process is a job of its own, whatever launcher started it.
  bool alone = false;
  /// Processes that the job may have in the course of its life, those that have left or failed
  /// included; 0: its processes are fixed. The launcher decides, and sets it (`scripts/run
  /// --elastic`); an Error where the launcher does not start elastic jobs.
  std::uint32_t elastic = 0;
  /// Worker threads of this process; 0: its share of the machine's cores, at least one.
  std::uint32_t threads = 0;
  /// Threads that serve service messages and sleep when idle. 0: workers serve while they wait.
  std::uint32_t service_threads = 1;
  /// Other threads than workers and service threads that may use the fabric at the same time.
  std::uint32_t outside_threads = 8;
  /// Pins each worker to a core of its own when the machine has enough of them for all processes.
  bool pin = true;
  /// NUMA zones this process takes memory from and runs in, as node numbers; empty: those of the
  /// cores it may run on.
  std::vector<std::uint16_t> zones;

  /// Queue pairs between two processes; worker i uses number i modulo this. 0: one for each worker
  /// of the process that has the most of them, up to 4.
  std::uint32_t queue_pairs = 0;
  /// Other processes that this one is connected with at most; 0: as many as the device has queue
  /// pairs for, but at most 4096. When there are more, the ones that were not used for longest are
  /// closed in agreement with the peer, and the next use connects again: with 1 everything works,
  /// slowly. Only what has been handed out is not closed (Fabric::transmitter; so those of rings
  /// and tables), and for as long as a call, message or collective is at it; then there are more,
  /// as for the moment in which a new one replaces an old one. The same in all processes of the
  /// job. Without effect where the bootstrap carries no letters (Bootstrap::relays).
  std::uint32_t max_connections = 0;
  /// Requests that may be outstanding on a queue pair; 0: what the threads that share it need.
  std::uint32_t send_depth = 0;
  /// Receive buffers posted at once.
  std::uint32_t receive_depth = 512;
  /// Bytes of a receive buffer: the largest message, with its header.
  std::size_t receive_size = 4096;
  /// Bytes that receive buffers may take when messages pile up at threads that make no progress.
  /// Then senders wait. Messages of the process to itself may take as much again, each of its
  /// threads an equal share of it. No more than memory_limit.
  std::size_t receive_limit = std::size_t{64} << 20;
  /// Bytes of a superpage of registered memory (dtutils::RDMAAllocatorOptions).
  std::size_t superpage = std::size_t{64} << 20;
  /// Bytes of registered memory in each zone at most.
  std::size_t memory_limit = std::size_t{4} << 30;

  // Times of more than a year count as a year.

  /// join() throws an Error that names the processes which have not come by then. A process that
  /// does not answer for so long when another one first talks to it has failed for that one.
  std::chrono::milliseconds start_timeout{30'000};
  /// How long an orderly end waits for processes that still run, and the end of run() for calls
  /// that have not been executed.
  std::chrono::milliseconds leave_timeout{30'000};
  /// Time between two checks that idle peers still live.
  std::chrono::milliseconds watch_interval{50};
};

/// The settings of `base` overridden by the environment. Throws dtutils::Error that names the
/// variable and quotes the value it cannot read. Setup only.
Config configure(Config base = {});

/// The same, overridden by the arguments --cariama-..., which it removes from `argv` (as MPI_Init
/// does), so that the program sees only its own. An argument of that form that names no setting is
/// an Error, which lists the settings. Setup only.
Config configure(int& argc, char** argv, Config base = {});

/// For --help: how settings are given, then a line for each: name, default, meaning. Setup only.
std::string describe_settings();

}  // namespace dsfabric
