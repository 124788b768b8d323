// SPDX-License-Identifier: MIT
// Model of two processes that connect on first use (Handshakes). Either may begin, or both at once;
// either may die at any step, be given up by the other while it lives, or leave in good order.
// Nobody posts before the peer's queue pairs are connected, whoever waits comes to an end, nothing
// connects to a process after it was given up, and nobody takes the end of a process that has left
// for a failure.

/* spin-check: cc="-DSAFETY" expect=pass */
/* spin-check: spin="-DPOST_ON_OFFER" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DOWN_OFFER_SUFFICES" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DNO_NEWS" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DLATE_OFFER" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DSILENT" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DLEAVES_EARLY" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DNOTICE_SUFFICES" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DOFFER_AFTER_END" cc="-DSAFETY" expect=fail error="assertion violated" */

mtype = { OFFER, READY, END, LEFT };

/* The relay keeps the order of what one process sends, and the news of its death comes last. */
chan to[2] = [6] of { mtype };

bit dead[2];
bit wants[2];      /* some thread waits in Handshakes::open */
bit offered[2];
bit connected[2];  /* its queue pairs are, with the endpoints of the peer's offer */
bit ready[2];      /* Transmitters are handed out */
bit gave_up[2];    /* the peer has failed, for this process */
bit closed[2];     /* it leaves, and answers no offer any more */
bit knows_left[2]; /* that the peer leaves, by a notice or by a letter */
bit last_letter[2];  /* of the peer has come: a notice may be faster than the letters before it */
bit gone[2];       /* its queue pairs are destroyed, after it has left */

#define SELF _pid
#define PEER (1 - _pid)

#ifdef LEAVES_EARLY
#define SETTLED true
#else
#ifdef NOTICE_SUFFICES
#define SETTLED (!offered[SELF] || ready[SELF] || gave_up[SELF] || knows_left[SELF])
#else
#define SETTLED (!offered[SELF] || ready[SELF] || gave_up[SELF] || last_letter[SELF])
#endif
#endif

inline begin() {
  if
  :: !offered[SELF] -> offered[SELF] = 1; to[PEER]!OFFER
  :: else
  fi
}

/* The state first, then the queue pairs break (the fence), then the peer is told. */
inline give_up() {
  gave_up[SELF] = 1;
  connected[SELF] = 0;
#ifndef SILENT
  to[PEER]!END
#endif
}

active [2] proctype Process() {
  /* Chosen first, so that whoever waits for ever is seen to. */
  bit may_doubt;
  bit may_die;
  bit may_leave;
  if :: may_doubt = 1 :: skip fi;
  if :: may_die = 1 :: skip fi;
  if :: may_leave = 1 :: skip fi;
  do
  :: atomic { !wants[SELF] && !gave_up[SELF] && !knows_left[SELF] && !closed[SELF] ->
       wants[SELF] = 1; begin() }
  :: atomic { to[SELF]?OFFER ->
       if
#ifndef LATE_OFFER
       :: gave_up[SELF]
#endif
#ifndef OFFER_AFTER_END
       :: closed[SELF]
#endif
#ifdef OWN_OFFER_SUFFICES
       :: offered[SELF]
#endif
          /* Who has given this process up has told it so, before it went. */
       :: else -> assert(!gone[PEER] || gave_up[PEER]);
          begin(); connected[SELF] = 1; to[PEER]!READY;
#ifdef POST_ON_OFFER
          ready[SELF] = 1
#endif
       fi;
       assert(!(gave_up[SELF] && connected[SELF])) }
  :: atomic { to[SELF]?READY -> if :: gave_up[SELF] :: else -> ready[SELF] = 1 fi }
  :: atomic { to[SELF]?END -> gave_up[SELF] = 1; connected[SELF] = 0 }
  :: atomic { to[SELF]?LEFT -> knows_left[SELF] = 1; last_letter[SELF] = 1 }
     /* A post: it arrives, or fails because the peer is gone or has cut this process off. */
  :: ready[SELF] && !gave_up[SELF] ->
     assert(connected[PEER] || dead[PEER] || gave_up[PEER] || knows_left[SELF]); skip
     /* It leaves when it is not about to connect: by a notice for a peer that may look at the state
        of the queue pairs, and by a letter for all. */
  :: atomic { may_leave && !closed[SELF] && SETTLED -> closed[SELF] = 1;
       if :: ready[SELF] -> knows_left[PEER] = 1 :: else fi;
       to[PEER]!LEFT }
  :: atomic { closed[SELF] && (gave_up[SELF] || knows_left[SELF]) ->
       gone[SELF] = 1; connected[SELF] = 0;
       assert(!ready[PEER] || knows_left[PEER] || gave_up[PEER] || gave_up[SELF] || dead[PEER])
     }; break
  :: atomic { may_doubt && !gave_up[SELF] -> may_doubt = 0; give_up() }
  :: atomic { may_die && !dead[PEER] -> dead[SELF] = 1;
#ifndef NO_NEWS
       to[PEER]!END
#endif
     }; break
  :: timeout -> assert(!wants[SELF] || ready[SELF] || gave_up[SELF] || knows_left[SELF]
                    || closed[SELF]); break
  od
}
