// SPDX-License-Identifier: MIT
// Model of the shm device's receive and completion rings: senders that may die anywhere, recovery.

/* spin-check: cc="-DSAFETY -DCOLLAPSE -DMEMLIM=6000" run="-m100000" expect=pass */
/* spin-check: spin="-DDETACH" cc="-DSAFETY -DMEMLIM=6000" run="-m9999" expect=pass */
/* spin-check: spin="-DFREES_FIRST" cc="-DSAFETY" run="-m100000" expect=fail error="end state" */
/* spin-check: spin="-DALWAYS_LOST" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DLEAVES_CLAIMED" cc="-DSAFETY" run="-m100000" expect=fail error="end state" */
/* spin-check: spin="-DSECOND_SLOT" cc="-DSAFETY" run="-m100000" expect=fail error="assertion" */
/* spin-check: spin="-DSTORES_PLAINLY" cc="-DSAFETY" run="-m9999" expect=fail error="end state" */
/* spin-check: spin="-DKEEPS_NOTE" cc="-DSAFETY" run="-m9999" expect=fail error="end state" */

#define SENDERS 2
#define DEPTH 2     /* receives that may be outstanding */
#if defined(DETACH) || defined(STORES_PLAINLY) || defined(KEEPS_NOTE)
#define DETACHES 1  /* claims that a poll detaches */
#define SLOTS 4     /* of the completion ring: kSlotsPerEntry */
#define RECEIVES 4  /* posted in all */
#else
#define DETACHES 0
#define SLOTS 2
#define RECEIVES 6  /* so that both rings go round three times */
#endif
#define POSTS 4     /* slots of the receive ring, which both senders share */

/* slot_word.hpp: a word is (lap, owner, state), and changes as a whole. */
#define EMPTY 0
#define CLAIMED 1
#define FULL 2
#define TAKEN 3
#define VOID 4
#define DETACHED 5
#define NOBODY 7

typedef Slot { byte lap; byte owner; byte state; byte receive };
Slot posted[POSTS];       /* the receive ring, one queue shared by both senders */
#define IS_FULL(slot) (posted[(slot) % POSTS].state == FULL && (slot) < POSTS -> 1 : 0)
#define WAITING (IS_FULL(0) + IS_FULL(1) + IS_FULL(2) + IS_FULL(3))
Slot completed[SLOTS];    /* the completion ring */
byte head_hint, tail_hint, completion_hint;

/* QueuePairEntry::in_flight*, one for each sender. */
typedef Debt { bit open; byte receive; byte completion };
Debt debt[SENDERS];
bit dead[SENDERS], buried[SENDERS];

byte posts, polled, detaches;
bit seen[RECEIVES];       /* a completion of it was polled */

#define LAP(position) ((position) / SLOTS)
#define POST_LAP(position) ((position) / POSTS)

/* May the process die between this step and the next? */
inline may_die() {
  if
  :: skip
  :: goto dying
  fi
}

/* step_past(): the slot of `position` is in its lap or ahead of it. */
inline pass(position, its_lap, slots) {
  position = position + 1 +
    (its_lap > position / slots + 2 -> (its_lap - position / slots - 2) * slots : 0)
}

/* The loop of push_completion: ends with the slot of `position` claimed by `who`. */
inline claim(position, who) {
  do
  :: atomic {
       completed[position % SLOTS].lap == LAP(position) &&
       completed[position % SLOTS].state == EMPTY ->
       completed[position % SLOTS].state = CLAIMED;
       completed[position % SLOTS].owner = who;
       break
     }
  :: atomic {
       completed[position % SLOTS].lap > LAP(position) ||
       (completed[position % SLOTS].lap == LAP(position) &&
        completed[position % SLOTS].state != EMPTY) ->
       pass(position, completed[position % SLOTS].lap, SLOTS)
     }
  :: atomic {
       completed[position % SLOTS].lap < LAP(position) ->
       /* A reset leaves void slots, which a claimer may use, and detached ones are skipped;
          anything else is an overrun. */
       assert(completed[position % SLOTS].state == VOID ||
              completed[position % SLOTS].state == DETACHED);
       completed[position % SLOTS].lap = LAP(position);
       if
       :: completed[position % SLOTS].state == VOID ->
          completed[position % SLOTS].state = EMPTY;
          completed[position % SLOTS].owner = NOBODY
       :: else
       fi
     }
  od
}

/* The last exchange of fill_and_publish; `published` says whether the claim was still attached. */
inline publish(position, published) {
  atomic {
#ifdef STORES_PLAINLY
    published = 1;
#else
    published = (completed[position % SLOTS].state == CLAIMED);
#endif
    if
    :: published -> completed[position % SLOTS].state = FULL
    :: else
    fi
  }
}
inline free_detached(position) {
  d_step {
    assert(completed[position % SLOTS].state == DETACHED);
    completed[position % SLOTS].lap++;
    completed[position % SLOTS].state = EMPTY;
    completed[position % SLOTS].owner = NOBODY
  }
}

/* take_receive, then push_completion, then finish_receive; steps in the order of their stores. */
active [SENDERS] proctype Sender() {
  byte position, receive;
  bit published;
  do
  :: (posts == RECEIVES && WAITING == 0) -> break
  :: (WAITING > 0) ->
     position = head_hint;
     do
     :: atomic {
          posted[position % POSTS].lap == POST_LAP(position) &&
          posted[position % POSTS].state == FULL ->
          posted[position % POSTS].state = TAKEN;
          posted[position % POSTS].owner = _pid;
          break
        }
     :: atomic {
          posted[position % POSTS].lap > POST_LAP(position) ||
          (posted[position % POSTS].lap == POST_LAP(position) &&
           posted[position % POSTS].state == TAKEN) ->
          pass(position, posted[position % POSTS].lap, POSTS)
        }
     :: atomic {
          posted[position % POSTS].lap < POST_LAP(position) ||
          (posted[position % POSTS].lap == POST_LAP(position) &&
           posted[position % POSTS].state < FULL) ->
          goto none
        }
     od;
     may_die();
     head_hint = position + 1;
     receive = posted[position % POSTS].receive;
     may_die();
#ifdef FREES_FIRST
     d_step {
       posted[position % POSTS].lap++;
       posted[position % POSTS].state = EMPTY;
       posted[position % POSTS].owner = NOBODY
     };
     may_die();
#endif
     debt[_pid].receive = receive;
     debt[_pid].completion = 0;
     may_die();
     debt[_pid].open = 1;
     may_die();
#ifndef FREES_FIRST
     d_step {
       posted[position % POSTS].lap++;
       posted[position % POSTS].state = EMPTY;
       posted[position % POSTS].owner = NOBODY
     };
     may_die();
#endif
     do
     :: position = completion_hint;
        claim(position, _pid);
        may_die();
        completion_hint = position + 1;
        may_die();
        debt[_pid].completion = position + 1;
        may_die();
        completed[position % SLOTS].receive = receive;
        may_die();
        publish(position, published);
        if
        :: published -> break
        :: else
        fi;
        may_die();
#ifndef KEEPS_NOTE
        debt[_pid].completion = 0;
        may_die();
#endif
        free_detached(position);
        may_die()
     od;
     may_die();
     debt[_pid].open = 0;
none:
     position = 0; receive = 0; published = 0
  od;
  goto finished;
dying:
  atomic { position = 0; receive = 0; published = 0; dead[_pid] = 1 };
finished:
  skip
}

/* Agent::fail_orphan: recover_receive, then flush_receive into the slot that the dead sender
   claimed, or, when it had claimed none, into another. */
active proctype Agent() {
  byte who, position, receive, claimed;
  bit lost, published;
end:
  do
  :: atomic {
       (dead[0] && !buried[0]) || (dead[1] && !buried[1]) ->
       who = (dead[0] && !buried[0] -> 0 : 1)
     };
     position = 0; claimed = NOBODY;
     do
     :: position < SLOTS ->
        atomic {
          if
          :: (completed[position].state == CLAIMED || completed[position].state == DETACHED) &&
             completed[position].owner == who ->
#ifdef SECOND_SLOT
             completed[position].state = VOID;
             lost = 1
#else
             claimed = position
#endif
          :: else
          fi;
          position++
        }
     :: else -> break
     od;
     atomic {
       if
       :: debt[who].open ->
          receive = debt[who].receive;
#ifdef ALWAYS_LOST
          lost = 1
#else
          lost = (lost || claimed != NOBODY || debt[who].completion == 0)
#endif
       :: else
       fi;
       position = 0
     };
     do
     :: position < POSTS ->
        atomic {
          if
          :: posted[position].state == TAKEN && posted[position].owner == who ->
             if
             :: !debt[who].open -> lost = 1; receive = posted[position].receive
             :: else
             fi;
             posted[position].lap++;
             posted[position].state = EMPTY;
             posted[position].owner = NOBODY
          :: else
          fi;
          position++
        }
     :: else -> break
     od;
     if
     :: lost ->
        position = claimed;
#ifndef LEAVES_CLAIMED
        if
        :: claimed == NOBODY ->
#endif
           position = completion_hint;
           claim(position, NOBODY - 1);
           completion_hint = position + 1
#ifndef LEAVES_CLAIMED
        :: else
        fi
#endif
        ;
        /* publish_for_the_dead: pushes anew when the claim is detached, be it its own one. */
        do
        :: completed[position % SLOTS].receive = receive;
           publish(position, published);
           if
           :: published -> break
           :: else
           fi;
           free_detached(position);
           position = completion_hint;
           claim(position, NOBODY - 1);
           completion_hint = position + 1
        od
     :: else
     fi;
     atomic {
       buried[who] = 1; debt[who].open = 0;
       who = 0; position = 0; receive = 0; claimed = 0; lost = 0; published = 0
     }
  od
}

/* The program: posts while the completion queue has room for it, and polls. */
active proctype Owner() {
  byte head;
  do
  :: atomic {
       posts < RECEIVES && posts - polled < DEPTH &&
       posted[tail_hint % POSTS].lap == POST_LAP(tail_hint) &&
       posted[tail_hint % POSTS].state == EMPTY ->
       posted[tail_hint % POSTS].state = CLAIMED
     };
     posted[tail_hint % POSTS].receive = posts;
     d_step { posted[tail_hint % POSTS].state = FULL; tail_hint++; posts++ }
  /* The slot is in the hands of a sender, which may be slow or stopped: skip this position. */
  :: atomic {
       posts < RECEIVES && posts - polled < DEPTH &&
       posted[tail_hint % POSTS].lap < POST_LAP(tail_hint) &&
       posted[tail_hint % POSTS].state == TAKEN ->
       posted[tail_hint % POSTS].lap = POST_LAP(tail_hint);
       tail_hint++
     }
  /* Room for one more, and yet the oldest slot is not free. */
  :: atomic {
       posts < RECEIVES && posts - polled < DEPTH &&
       posted[tail_hint % POSTS].lap < POST_LAP(tail_hint) &&
       posted[tail_hint % POSTS].state != TAKEN -> assert(false)
     }
  :: d_step {
       completed[head % SLOTS].lap == LAP(head) &&
       (completed[head % SLOTS].state == FULL || completed[head % SLOTS].state == VOID) ->
       if
       :: completed[head % SLOTS].state == FULL ->
          assert(!seen[completed[head % SLOTS].receive]);
          seen[completed[head % SLOTS].receive] = 1;
          polled++
       :: else
       fi;
       completed[head % SLOTS].lap++;
       completed[head % SLOTS].state = EMPTY;
       completed[head % SLOTS].owner = NOBODY;
       head++
     }
  /* pass_claimed: a claim lasts for too long. */
  :: atomic {
       detaches < DETACHES && completed[head % SLOTS].lap == LAP(head) &&
       completed[head % SLOTS].state == CLAIMED ->
       completed[head % SLOTS].state = DETACHED;
       detaches++;
       head++
     }
  :: d_step {
       completed[head % SLOTS].lap == LAP(head) && completed[head % SLOTS].state == DETACHED ->
       head++
     }
  :: d_step {
       completed[head % SLOTS].lap > LAP(head) ->
       pass(head, completed[head % SLOTS].lap, SLOTS)
     }
  :: (polled == posts && posts == RECEIVES) -> break
  /* With nobody left to send, what was not taken stays posted. */
  :: (dead[0] && dead[1] && polled + WAITING == posts &&
      (posts == RECEIVES || posts - polled == DEPTH)) -> break
  od
}
