// SPDX-License-Identifier: MIT
// Model of two processes that close their connection in agreement (Closings), and connect again on
// the next use (Handshakes). Either may propose it, or both at once, at any moment; either may
// refuse. Each has a thread that sends messages: it becomes a user of the connection, posts, and
// gives it back. A message arrives some time after its post, and is taken from the receive queue
// some time after that. Every message is taken once, in order; nothing is posted, or under way, on
// queue pairs that were reset; and whoever waits comes to an end, also when the peer dies.

/* spin-check: cc="-DSAFETY -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DIGNORES_USERS" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DNO_FLUSH" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DNO_FAREWELL" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DANY_FAREWELL" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DANSWERS_BOTH" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DOFFERS_FIRST" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DOLD_OFFER -DONE_CLOSE" cc="-DSAFETY" expect=fail error="invalid end state" */
/* spin-check: spin="-DNO_NEWS" cc="-DSAFETY" expect=fail error="invalid end state" */

/* Of one process two, of the other one. */
#define MESSAGES(me) (2 - (me))
#ifdef ONE_CLOSE
#define PROPOSALS(me) (1 - (me))
#else
#define PROPOSALS(me) (2 - (me))
#endif

mtype = { OFFER, READY, CLOSE, CLOSED, KEEP, END };

/* The relay keeps the order of what one process sends, and the news of its death comes last. With
   the number of a farewell. */
chan letters[2] = [8] of { mtype, byte };
/* What was posted to a process and has not arrived there, and what was not taken yet: numbers of
   messages, and of farewells. */
#define FAREWELL 100
chan posted[2] = [6] of { byte };
chan arrived[2] = [6] of { byte };

bit offered[2];
bit connected[2];  /* its queue pairs are, with those of the peer */
bit open[2];
byte users[2];     /* those who wait to become some, too */
bit proposed[2];   /* it was stopped, and the peer has not answered */
byte number[2];    /* of the last farewell that it sent */
byte farewell[2];  /* the last one that came */
byte sent[2];
byte taken[2];     /* of the peer's messages */
byte proposals[2];
bit dead[2];
bit gave_up[2];    /* the peer has failed, for this process */

#define PEER(me) (1 - (me))
#define OVER(me) (gave_up[me] || dead[me])

#ifdef IGNORES_USERS
#define MAY_STOP(me) (open[me])
#else
#define MAY_STOP(me) (open[me] && users[me] == 0)
#endif
/* What it has posted has arrived: the peer's device has said so. */
#ifdef NO_FLUSH
#define FLUSHED(me) true
#else
#define FLUSHED(me) (empty(posted[PEER(me)]))
#endif
#ifdef NO_FAREWELL
#define CAME(me, n) true
#else
#ifdef ANY_FAREWELL
#define CAME(me, n) (farewell[me] != 0)
#else
#define CAME(me, n) (farewell[me] == (n))
#endif
#endif

inline offer(me) {
  if
  :: !offered[me] -> offered[me] = 1; letters[PEER(me)]!OFFER(0)
  :: else
  fi
}

inline reset(me) {
  assert(OVER(me) || dead[PEER(me)] ||
         (empty(posted[PEER(me)]) && empty(posted[me]) && empty(arrived[me])));
  connected[me] = 0;
  proposed[me] = 0;
#ifndef OLD_OFFER
  offered[me] = 0
#endif
}

inline go_on(me) { proposed[me] = 0; open[me] = 1 }

/* Sets `done`, unless it takes too long. */
inline bid_farewell(me) {
  done = 0;
  if
  :: atomic { FLUSHED(me) -> number[me]++;
       if
       :: !dead[PEER(me)] -> posted[PEER(me)]!(FAREWELL + number[me])
       :: else
       fi };
     if
     :: FLUSHED(me) -> done = 1
     :: skip
     fi
  :: skip
  fi
}

/* The thread that sends. */
proctype Sender(byte me) {
  do
  :: sent[me] < MESSAGES(me) && !OVER(me) ->
     atomic { users[me]++; if :: !open[me] && !OVER(me) -> offer(me) :: else fi };
     do
     :: atomic { !open[me] && !offered[me] && !OVER(me) -> offer(me) }
     :: open[me] || OVER(me) -> break
     od;
     /* It has the Transmitter, and is about to post. */
     atomic {
       if
       :: OVER(me)
       :: else ->
          assert(connected[me] && (connected[PEER(me)] || dead[PEER(me)] || gave_up[PEER(me)]));
          if
          :: dead[PEER(me)]
          :: else -> sent[me]++; posted[PEER(me)]!sent[me]
          fi
       fi;
       users[me]--
     }
  :: else -> break
  od
}

/* The device, and whoever takes messages in. */
proctype Device(byte me) {
  byte item;
end:
  do
  :: atomic { posted[me]?item ->
       if :: dead[me] :: else -> arrived[me]!item fi; item = 0 }
  :: atomic { arrived[me]?item ->
       if
       :: dead[me]
       :: !dead[me] && item > FAREWELL -> farewell[me] = item - FAREWELL
       :: !dead[me] && item < FAREWELL -> assert(item == taken[me] + 1); taken[me] = item
       fi;
       item = 0 }
  od
}

/* Whoever reads letters and proposes, under one lock; users come and go meanwhile. */
proctype Letters(byte me; bit may_die) {
  byte n;
  bit done;
end:
  do
  :: atomic { may_die && !dead[PEER(me)] -> dead[me] = 1;
#ifndef NO_NEWS
       letters[PEER(me)]!END(0)
#endif
     }; break
  :: dead[PEER(me)] && gave_up[me] -> break
  :: atomic { MAY_STOP(me) && proposals[me] < PROPOSALS(me) && !gave_up[me] ->
       proposals[me]++; open[me] = 0 };
     bid_farewell(me);
     atomic {
       if
       :: done -> proposed[me] = 1; letters[PEER(me)]!CLOSE(number[me])
       :: else -> go_on(me)
       fi;
       done = 0
     }
  :: atomic { letters[me]?OFFER(_) ->
       if
       :: gave_up[me]
       :: else -> assert(!connected[me]); offer(me); connected[me] = 1; letters[PEER(me)]!READY(0)
       fi
     }
  :: atomic { letters[me]?READY(_) -> assert(connected[me]); open[me] = 1 }
  :: letters[me]?CLOSE(n) ->
     if
     :: proposed[me] -> CAME(me, n);
        atomic { reset(me);
#ifdef ANSWERS_BOTH
          letters[PEER(me)]!CLOSED(number[me]);
#endif
          if :: users[me] > 0 -> offer(me) :: else fi }
     :: else ->
        done = 0;
        if
        :: atomic { MAY_STOP(me) -> open[me] = 0 };
           if
           :: CAME(me, n) -> bid_farewell(me)
           :: skip
           fi;
           atomic {
             if
             :: done ->
                reset(me);
#ifdef OFFERS_FIRST
                if :: users[me] > 0 -> offer(me) :: else fi;
#endif
                letters[PEER(me)]!CLOSED(number[me]);
                if :: users[me] > 0 -> offer(me) :: else fi
             :: else -> go_on(me); letters[PEER(me)]!KEEP(0)
             fi
           }
        :: letters[PEER(me)]!KEEP(0)
        fi
     fi;
     n = 0; done = 0
  :: letters[me]?CLOSED(n) ->
     assert(proposed[me]);
     CAME(me, n);
     atomic { reset(me); n = 0; if :: users[me] > 0 -> offer(me) :: else fi }
  :: atomic { letters[me]?KEEP(_) -> assert(proposed[me]); go_on(me) }
  :: letters[me]?END(_) -> gave_up[me] = 1
  od
}

init {
  byte dies;
  select(dies : 0 .. 2);  /* 2: neither, so that whoever waits for ever is seen */
  atomic {
    run Letters(0, dies == 0); run Letters(1, dies == 1);
    run Device(0); run Device(1);
    run Sender(0); run Sender(1)
  }
}
