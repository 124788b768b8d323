// SPDX-License-Identifier: MIT
// Model of SelectiveSignaling as Transmitter uses it: threads that may stop anywhere, and a device.

/* The protocol as it is: nobody is blocked by threads that stop. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* No memory is used again before its request is done, and no overflow when a window is full. */
/* spin-check: spin="-DCHECK_REUSE -DBAND=2" cc="-DSAFETY -DMEMLIM=4000" expect=pass */
/* Mistakes that must show: each relation is as narrow as it can be. */
/* A margin W - T narrower than 2n - 1: threads that stop hold all signaled tickets. */
/* spin-check: spin="-DWINDOW=5" cc="-DSAFETY" expect=fail error="invalid end" */
/* A send queue that holds less than W + n - 1. */
/* spin-check: spin="-DCHECK_REUSE -DSEND_DEPTH=5" cc="-DSAFETY" expect=fail error="assertion" */
/* A tag that is read before the post. */
/* spin-check: spin="-DCHECK_REUSE -DTAG_EARLY=1" cc="-DSAFETY" expect=fail error="assertion" */

#ifdef CHECK_REUSE  /* a smaller window; a stop is no more than a long delay here */
#define WATCH 1
#define STOPS 0
#define WINDOW 4
#endif
#ifndef THREADS
#define THREADS 3    /* n */
#endif
#ifndef INTERVAL
#define INTERVAL 2   /* k */
#endif
#ifndef BAND
#define BAND 1       /* T */
#endif
#ifndef WINDOW
#define WINDOW (BAND + 2 * THREADS - 1)  /* W */
#endif
#ifndef TICKETS
#define TICKETS 8    /* posts of all threads together, in any split */
#endif
#ifndef SEND_DEPTH
#define SEND_DEPTH (WINDOW + THREADS - 1)
#endif
#ifndef STOPS
#define STOPS 1      /* threads may stop for good, before a post or between poll and retire */
#endif
#ifndef WATCH
#define WATCH 0      /* the memory of one post is watched */
#endif
#ifndef TAG_EARLY
#define TAG_EARLY 0  /* a mistake: the tag is read before the post */
#endif

/* The counters of SelectiveSignaling. */
byte issued, retired;

/* The device, as seen by those who post and poll: requests in the order of their posts, from post
   to the poll that frees them. What waits in the completion queue is among them, so one bound
   serves both queues. Execution is seen at that poll, the latest moment possible. */
chan outstanding = [SEND_DEPTH] of { byte, bit, bit };  /* ticket, signaled, watched */
byte signaled_outstanding;

/* The memory of one post of the first thread, any one: watched until it may be used again. */
bit watching, tagged, executed;
byte tag;

/* What RetireTag::done promises: the device is through with the memory. */
inline check_watched() {
  if
  :: tagged && retired > tag -> assert(executed); tagged = 0; executed = 0; tag = 0
  :: else
  fi
}

/* Transmitter::progress when there is a completion: ibv_poll_cq, then retire. */
inline poll_one() {
  d_step {
    signaled_outstanding > 0 ->
    do
    :: outstanding?completed, signaled, watched;
       if :: watched -> executed = 1; watched = 0 :: else fi;
       if :: signaled -> signaled = 0; break :: else fi
    od;
    signaled_outstanding--
  };
  if
  :: STOPS -> goto stop
  :: d_step {
       if :: completed >= retired -> retired = completed + 1 :: else fi;
       completed = 0;
       check_watched()
     }
  fi
}

/* ibv_post_send, which takes one at a time. */
inline post() {
  assert(nfull(outstanding));
  outstanding!ticket, signaled, watched;
  signaled_outstanding = signaled_outstanding + signaled;
  ticket = 0; signaled = 0
}

active [THREADS] proctype User() {
  byte ticket, completed; bit signaled, watched;
end_idle:
  do
  /* Transmitter::progress by a thread that has nothing to post. */
  :: poll_one()
  /* Transmitter::transmit. */
  :: d_step { issued < TICKETS -> ticket = issued; issued++ };
     if
     :: d_step { ticket < retired + BAND -> signaled = (ticket % INTERVAL == INTERVAL - 1) }
     :: ticket >= retired + BAND ->
admit:
        if
        :: STOPS -> goto stop
        :: poll_one(); goto admit
        :: d_step {
             ticket < retired + WINDOW ->
             signaled = (ticket >= retired + BAND || ticket % INTERVAL == INTERVAL - 1)
           }
        :: ticket >= retired + WINDOW && signaled_outstanding == 0 ->
           /* Whoever stays here is an invalid end state: a thread that waits forever. */
           (signaled_outstanding > 0 || ticket < retired + WINDOW);
           goto admit
        fi
     fi;
     if
     :: STOPS -> goto stop
     :: d_step { post() }
     :: d_step { WATCH && _pid == 0 && !watching -> watching = 1; watched = 1; tag = issued };
        d_step { post() };
        d_step {
          if :: TAG_EARLY :: else -> tag = issued fi;
          tagged = 1; watched = 0;
          check_watched()
        }
     fi
  od;
stop:
  ticket = 0;
  d_step { completed = 0; signaled = 0 };
end_stopped:
  false
}
