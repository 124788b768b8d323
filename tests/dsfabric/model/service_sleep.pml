// SPDX-License-Identifier: MIT
// Model of a service thread that goes to sleep (ServiceThreads::sleep) beside a worker that takes
// messages in now and then, and stops at any time: no message stays without anybody to run it.

/* spin-check: cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DMESSAGES=3" cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DNO_OWN_LOOK" cc="-DSAFETY" expect=fail error="invalid end state" */
/* spin-check: spin="-DARM_LAST" cc="-DSAFETY" expect=fail error="invalid end state" */

#ifndef MESSAGES
#define MESSAGES 2
#endif

byte arrived;       /* completions in the queue */
byte served;
byte inbox;         /* taken in by the worker in the midst of a handler, left to a service thread */
bit taking;         /* the lock of Receiver */
bit armed;
bit event;          /* of the channel: a completion came after the arming */
bit asleep;
bit woken;          /* WakeFd */

active proctype Device() {
  byte sent;
  do
  :: sent < MESSAGES ->
     atomic { sent++; arrived++; if :: armed -> armed = 0; event = 1 :: else fi }
  :: sent == MESSAGES -> break
  od
}

/* Core::take_one: a look under the lock, if nobody holds it. A worker runs what it finds, or puts
   it into the inbox of the service threads; a service thread runs it. */
active proctype Worker() {
  bit have;
  do
  :: break
  :: atomic { !taking -> taking = 1 };
     atomic { have = (arrived > 0); arrived = arrived - have };
     if
     :: have -> taking = 0; served++
     :: have -> inbox++; taking = 0; if :: asleep -> woken = 1 :: else fi
     :: else -> taking = 0
     fi;
     have = 0
  od
}

inline take_one() {
  if
  :: atomic { !taking -> taking = 1 };
     atomic { found = (arrived > 0); arrived = arrived - found };
     taking = 0;
     served = served + found
#ifdef NO_OWN_LOOK
  :: taking
#endif
  fi
}

active proctype Service() {
  bit found;
  do
  :: served == MESSAGES -> break
  :: else ->
     atomic { if :: inbox > 0 -> inbox--; served++ :: else fi };
     found = 0;
     asleep = 1;
#ifndef ARM_LAST
     armed = 1;
#endif
     take_one();
#ifdef ARM_LAST
     armed = 1;
#endif
     if
     :: found || inbox > 0
     :: else -> (event || woken || served == MESSAGES); event = 0; woken = 0
     fi;
     asleep = 0
  od
}
