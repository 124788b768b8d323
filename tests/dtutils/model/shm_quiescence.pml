// SPDX-License-Identifier: MIT
// Model of dereg_mr against senders on the shm device, with the store buffers of the processors.

/* spin-check: cc="-DSAFETY -DMEMLIM=6000" run="-m100000" expect=pass */
/* spin-check: spin="-DLATE_CLOSE" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DEARLY_LOOK" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DLATE_NOTE" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DNO_WAIT" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */

#define SENDERS 2    /* threads of one process that post on one queue pair */
#ifndef REQUESTS
#define REQUESTS 4   /* by each of them */
#endif

/* The memory that all see. */
byte send_lock;      /* SendLock: odd while held */
bit key = 1;         /* RegionEntry::key: is the region registered? */
bit in_use;          /* RegionEntry::in_use */
bit taken_back;      /* dereg_mr has returned: the program uses the memory for something else */
bit killed, dead;    /* the senders' process; dead: the kernel says so */

/* Plain stores wait in a buffer, first in, first out, and reach memory some time later. A locked
   instruction (exchange, compare-and-swap) waits until its own buffer is empty, as does the end of
   a process. */
#define WRITE 1
#define UNLOCK 2
chan buffer[SENDERS] = [3] of { byte };
#define DRAINED(who) (empty(buffer[who]))

/* One step of a process that can be killed between any two. */
#define STEP(action) atomic { if :: killed -> goto gone :: else -> action fi }

active [SENDERS] proctype Sender() {
  byte requests;
  bit registered;
  do
  :: requests == REQUESTS -> break
  :: else ->
     requests++;
#ifdef EARLY_LOOK
     STEP(registered = key);
#endif
     /* SendLock: compare-and-swap, seq_cst. */
     atomic {
       if
       :: killed -> goto gone
       :: DRAINED(_pid) && send_lock % 2 == 0 -> send_lock++
       fi
     };
     /* RegionCache::find_slowly, at the first use: an exchange. */
#ifndef LATE_NOTE
     atomic { if :: killed -> goto gone :: DRAINED(_pid) -> in_use = 1 fi };
#endif
#ifndef EARLY_LOOK
     /* Translation::is_live: a seq_cst load after the lock. */
     STEP(registered = key);
#endif
#ifdef LATE_NOTE
     atomic { if :: killed -> goto gone :: DRAINED(_pid) -> in_use = 1 fi };
#endif
     if
     :: registered ->
        STEP(buffer[_pid]!WRITE);
        STEP(buffer[_pid]!WRITE);
        registered = 0
     :: else
     fi;
     /* ~SendLock: a plain store, after all others. */
     STEP(buffer[_pid]!UNLOCK)
  od;
gone:
  skip
}

active [SENDERS] proctype Drain() {
  byte store;
end:
  do
  :: d_step {
       buffer[_pid - SENDERS]?store;
       if
       :: store == WRITE -> assert(!taken_back)
       :: else -> send_lock++
       fi;
       store = 0
     }
  od
}

/* SIGKILL at any time; the pidfd speaks when no thread runs and all their stores have arrived. */
active proctype Kernel() {
  if
  :: skip
  :: killed = 1;
     (DRAINED(0) && DRAINED(1)) -> dead = 1
  fi
}

active proctype Owner() {
  byte seen;
  bit used;
#ifdef LATE_CLOSE
  /* A plain store that is still in the buffer when the lock is read. */
  used = in_use;
  seen = send_lock;
  key = 0;
#else
  key = 0;           /* seq_cst: an exchange */
  used = in_use;     /* seq_cst: a load after it */
  seen = send_lock;  /* seq_cst: another */
#endif
#ifndef NO_WAIT
  /* A region that no peer has used, nor is about to, is not waited for. */
  (!used || seen % 2 == 0 || send_lock != seen || dead);
#endif
  taken_back = 1
}
