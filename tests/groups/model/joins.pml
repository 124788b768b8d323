// SPDX-License-Identifier: MIT
// A process joins: requests, streams, and donors that die, or leave and come back; and a group that
// ends meanwhile.
/* The subject: GroupCore::go_on_joining, serve_joiner and go_on, Door, StateSource and StateSink. A
   process outside asks members of the newest view that it knows for the state, one after the other,
   each time by a new ticket. Members answer a ticket once. Meanwhile the two members leave and come
   back, or die, LEAVES times, one after the other. In an attempt at a view with the process, each
   one waits for the others while it makes the tables; it may come to nothing, BREAKS times, at a
   member that makes them. With LOSE a member may be stopped meanwhile, and removed; and at any time
   the members may lose each other (`over`): nothing more is decided, and each finds that later. How
   a view changes is taken as it is (views.pml): what is decided is one step here.
   A row, or a word of a lane, that arrives late is one that is looked at late, so whoever looks may
   have missed what was there between two looks.
   Checked: the process joins (no invalid end state), by the view that it has made the tables of; or
   the group is over, and then the process does not wait for tables.

   The mutants, which must fail:
   MUTANT_SILENT: who leaves does not tell the process that it serves.
   MUTANT_NO_LOOK: the process does not ask again when its donor is in the newest view no more.
   MUTANT_PATIENT: the process waits for the commit of a view that the others have gone past.
   MUTANT_SAME_TICKET: the process asks again by the ticket that it had.
   MUTANT_NOBODY_TELLS: the process is not told that an attempt has come to nothing.
   MUTANT_DONOR_TELLS: only its donor tells it, which may be stopped.
   MUTANT_MADE_WAITS: a member that has made the tables does not tell it that the group is over.
   MUTANT_NEXT_SILENT: a member does not tell it that another attempt was decided.
   MUTANT_OVERWRITES: a member tells it so in the place of what it said to a later ticket.
   WITNESS: it has joined when both have happened, a donor left and an attempt broke. */
/* spin-check: cc="-DSAFETY -DMEMLIM=4000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DLOSE" cc="-DSAFETY -DMEMLIM=4000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DMUTANT_SILENT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_NO_LOOK" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_PATIENT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_SAME_TICKET" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DLOSE -DMUTANT_NOBODY_TELLS" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DLOSE -DMUTANT_DONOR_TELLS" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DLOSE -DMUTANT_MADE_WAITS" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DLOSE -DMUTANT_NEXT_SILENT" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DMUTANT_OVERWRITES" cc="-DSAFETY" expect=fail error="invalid end" */
/* spin-check: spin="-DWITNESS" cc="-DSAFETY" expect=fail error="assertion" */

#define M 2
#define BOTH 3
#define JOINER 2
#ifdef LOSE
#define LEAVES 0
#else
#define LEAVES 2
#endif
#define BREAKS 1
#define NOBODY 7
#define IN(set, m) (((set) >> (m)) & 1)

/* The view of today, and the member that gives the state while one with the process is made. */
byte view = 1;
byte members = BOTH;
byte attempt = NOBODY;
byte leaves, breaks;
byte stopped = NOBODY;
bool over;
byte away = NOBODY;      /* who has left, and comes back */
bool left_as_donor;

/* Of the process: what it asks, and has taken in; what it knows. */
byte ticket;
byte donor;
byte taken;              /* by ticket: the state */
byte making;             /* the view whose tables it makes, or has made; 0: none */
byte next_view;
byte known_view, known_members;

/* By member: what it has seen of the request, the last ticket that it served, its stream, and the
   last word of its lane: which ticket it is for, and what it says. */
typedef Lane { byte ticket; byte says; byte view }
#define STATE 1
#define CUT 2
#define GIVEN_UP 3
byte seen_ticket[M];
byte seen_donor[M];
byte served[M];
byte source[M];
Lane lane[M];

/* Of the attempt: its ticket, who stays, the view, and whether another one was decided behind it;
   how far each member is, and whether it knows of the other one; whose tables have come to each,
   and to the process. By member: it has found that the group is over. */
byte att_ticket, att_members, att_view;
bool retry;
mtype = { NONE, MAKE, MADE, SAID, BROKEN, FOLLOWED };
mtype step[M] = NONE;
byte came[M];
byte came_joiner;
bool lost[M];

/* While the process has not joined. */
#define IS_MEMBER(m) (IN(members, m) && !IN(members, JOINER))
#define LIVES(m) (IS_MEMBER(m) && stopped != (m))
#define STEP_OR_GONE(m, s) (!IN(att_members, m) || step[m] == (s))
#define ASKS(m) (seen_donor[m] == m && seen_ticket[m] == source[m])
#define SAYS(what) (ticket != 0 && lane[donor].ticket == ticket && lane[donor].says == (what))

inline say(m, what) {
  lane[m].ticket = source[m];
  lane[m].says = what;
  lane[m].view = view + 1
}

#ifdef MUTANT_NOBODY_TELLS
#define REFUSES(m) false
#elif defined(MUTANT_DONOR_TELLS)
#define REFUSES(m) (attempt == m)
#elif defined(MUTANT_OVERWRITES)
#define REFUSES(m) true
#else
#define REFUSES(m) (served[m] <= att_ticket)
#endif

/* The attempt has come to nothing. */
inline refuse(m) {
  if
  :: REFUSES(m) -> source[m] = 0; lane[m].ticket = att_ticket; lane[m].says = GIVEN_UP
  :: else
  fi
}

inline end_attempt() {
  attempt = NOBODY;
  retry = false;
  step[0] = NONE; step[1] = NONE;
  came[0] = 0; came[1] = 0;
  view = view + 1
}

proctype member(byte m) {
end:
  do
  :: atomic { LIVES(m) && seen_ticket[m] != ticket ->
       seen_ticket[m] = ticket; seen_donor[m] = donor }
  :: atomic { LIVES(m) && source[m] != 0 && !ASKS(m) -> source[m] = 0 }
  :: atomic { LIVES(m) && attempt == NOBODY && source[m] == 0 && seen_donor[m] == m &&
              seen_ticket[m] > served[m] ->
       served[m] = seen_ticket[m];
       source[m] = seen_ticket[m];
       say(m, STATE) }
  /* The process has nearly all: the view ends, and it gets the cut. */
  :: atomic { LIVES(m) && !over && attempt == NOBODY && source[m] != 0 && ASKS(m) &&
              taken == source[m] ->
       attempt = m;
       att_ticket = source[m];
       att_members = members;
       att_view = view + 1;
#ifdef LOSE
       came_joiner = 0;
#else
       /* Nobody is stopped on the way. */
       came[0] = members; came[1] = members; came_joiner = members;
#endif
       step[0] = MAKE; step[1] = MAKE;
       /* A second cut is behind the first one, which the process takes. */
       if
       :: lane[m].says == STATE -> say(m, CUT)
       :: else
       fi }

  /* The tables: to the other one, to the process; from both; the process has made them, too. */
  :: atomic { LIVES(m) && step[m] == MAKE && IN(att_members, 1 - m) && !IN(came[1 - m], m) ->
       came[1 - m] = came[1 - m] | 1 << m }
  :: atomic { LIVES(m) && step[m] == MAKE && !IN(came_joiner, m) ->
       came_joiner = came_joiner | 1 << m }
  :: atomic { LIVES(m) && step[m] == MAKE && IN(came_joiner, m) &&
              (!IN(att_members, 1 - m) || (IN(came[1 - m], m) && IN(came[m], 1 - m))) &&
              (making == att_view || next_view == att_view) ->
       step[m] = MADE }
  :: atomic { LIVES(m) && step[m] == MADE && next_view == att_view -> step[m] = SAID }
  :: atomic { LIVES(m) && attempt != NOBODY && !over && !retry &&
              STEP_OR_GONE(0, SAID) && STEP_OR_GONE(1, SAID) ->
       source[attempt] = 0;
       end_attempt();
       members = members | 1 << JOINER }

  /* They come to nothing: for any reason, or because nothing will be decided any more. */
  :: atomic { LIVES(m) && step[m] == MAKE && (breaks < BREAKS || lost[m]) ->
       if
       :: !lost[m] -> breaks = breaks + 1
       :: else
       fi;
       step[m] = BROKEN;
       refuse(m) }
#ifndef MUTANT_MADE_WAITS
  :: atomic { LIVES(m) && step[m] == MADE && lost[m] -> step[m] = BROKEN; refuse(m) }
#endif
  /* Then, or when the process has asked again, or one is stopped, the next view is without it. */
  :: atomic { LIVES(m) && attempt != NOBODY && !over && !retry &&
              (step[0] == BROKEN || step[1] == BROKEN || (attempt == m && !ASKS(m)) ||
               (stopped != NOBODY && IN(att_members, stopped))) ->
       retry = true }
  :: atomic { LIVES(m) && retry && step[m] != FOLLOWED ->
       step[m] = FOLLOWED;
#ifndef MUTANT_NEXT_SILENT
       refuse(m)
#endif
     }
  :: atomic { LIVES(m) && retry && !over && (stopped == 0 || STEP_OR_GONE(0, FOLLOWED)) &&
              (stopped == 1 || STEP_OR_GONE(1, FOLLOWED)) ->
       end_attempt();
       if
       :: stopped != NOBODY -> members = members & ~(1 << stopped)
       :: else
       fi }

  :: atomic { LIVES(m) && attempt == NOBODY && !over && away == NOBODY && leaves < LEAVES &&
              members == BOTH ->
       leaves = leaves + 1;
       view = view + 1;
       members = members & ~(1 << m);
       if
       :: source[m] = 0 /* it dies */
       :: away = m
       fi;
       if
       :: source[m] != 0 ->
          left_as_donor = true;
#ifndef MUTANT_SILENT
          say(m, GIVEN_UP);
#endif
          source[m] = 0
       :: else
       fi }
  :: atomic { away == m && attempt == NOBODY && !over && !IN(members, JOINER) ->
       away = NOBODY;
       view = view + 1;
       members = members | 1 << m }

#ifdef LOSE
  :: atomic { LIVES(m) && attempt != NOBODY && att_members == BOTH && stopped == NOBODY ->
       stopped = m }
  :: atomic { LIVES(m) && !over -> over = true }
  :: atomic { LIVES(m) && over && !lost[m] -> lost[m] = true }
#endif
  od
}

inline ask_again() {
  making = 0;
  next_view = 0;
  if
  :: IN(known_members, 0) -> donor = 0
  :: IN(known_members, 1) -> donor = 1
  fi;
#ifdef MUTANT_SAME_TICKET
  ticket = 1
#else
  ticket = ticket + 1
#endif
}

#ifdef MUTANT_NO_LOOK
#define LEFT false
#else
#define LEFT (!IN(known_members, donor))
#endif
#ifdef MUTANT_PATIENT
#define PASSED_OVER(next) false
#else
#define PASSED_OVER(next) (known_view >= next && !IN(known_members, JOINER))
#endif
#define REFUSED_BY(m) (lane[m].ticket == ticket && lane[m].says == GIVEN_UP)
#define WAITS (making == 0 && next_view == 0)

proctype joiner() {
  do
  :: atomic { known_view < view -> known_view = view; known_members = members }
  :: atomic { ticket == 0 && known_view != 0 -> ask_again() }
  :: atomic { WAITS && ticket != 0 && (SAYS(GIVEN_UP) || LEFT) -> ask_again() }
  :: atomic { WAITS && SAYS(STATE) && taken != ticket -> taken = ticket }
  :: atomic { WAITS && SAYS(CUT) && taken == ticket -> making = lane[donor].view }
  /* The tables are made with all others, or not at all. */
  :: atomic { making != 0 && making == att_view && came_joiner == att_members ->
       next_view = making; making = 0 }
  :: atomic { making != 0 && (REFUSED_BY(0) || REFUSED_BY(1) || PASSED_OVER(making)) ->
       ask_again() }
  :: atomic { next_view != 0 && IN(members, JOINER) ->
       assert(next_view == view);
#ifdef WITNESS
       assert(!left_as_donor || breaks == 0);
#endif
       break }
  :: atomic { next_view != 0 && PASSED_OVER(next_view) -> ask_again() }
  /* It looks on, and its other work goes on. */
  :: atomic { over && making == 0 -> break }
  od
}

init {
  atomic {
    run joiner();
    run member(0);
    run member(1)
  }
}
