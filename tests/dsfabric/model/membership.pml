// SPDX-License-Identifier: MIT
// Model of who is in an elastic job: the launcher's Server, and Membership, Failures and
// FailureDetector of each process. Founders and a newcomer may doubt each other, for good reason
// or not, leave, and die, at any step. All users are told the same, in one order, each end once and
// when the connections are broken; those that stay agree on who is gone; who was given up and lives
// hears of it; and if nobody dies or leaves, somebody stays.

/* spin-check: cc="-DSAFETY -DCOLLAPSE -DMEMLIM=3000" run="-m100000" expect=pass */
/* spin-check: spin="-DGIVEN_UP_ACCUSES" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DSILENT_DOUBT" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DTOLD_AT_ONCE" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DTOLD_EARLY" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DNO_PAST" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DSILENT_END" cc="-DSAFETY" expect=fail error="assertion violated" */
/* spin-check: spin="-DENDS_TWICE" cc="-DSAFETY" expect=fail error="assertion violated" */

#define ALL 3       /* two founders, and a newcomer */
#define NEWCOMER 2
#define EVENTS 6    /* one joins and three end; more are a fault */
#ifndef TROUBLES
#define TROUBLES 3  /* one doubts another one, leaves, or dies: so often in all */
#endif

mtype = { HELLO, INTRODUCE, ACCUSE, GOODBYE, CLOSED, JOINED, LEFT, FAILED };

/* Each connection keeps its order. */
chan up[ALL] = [6] of { mtype, byte };
chan down[ALL] = [EVENTS] of { mtype, byte };

/* What the launcher knows. */
bit connected[ALL];
bit known[ALL];        /* the others have been told of it */
bit gone[ALL];
bit failed[ALL];       /* those that are gone and have not left */
mtype kind_of[EVENTS]; /* all events, in their order */
byte whose[EVENTS];
byte events;

bit over[ALL];         /* it has left, or is dead */
byte troubles = TROUBLES;

#define HAS(set, who) (set & (1 << who))
#define ADD(set, who) set = set | (1 << who)

inline tell(kind, who) {
  kind_of[events] = kind;
  whose[events] = who;
  events++;
  to = 0;
  do
  :: to == ALL -> break
  :: else ->
     if
     :: !connected[to]
#ifdef SILENT_END
     :: kind == FAILED && to == who
     :: connected[to] && (kind != FAILED || to != who) -> down[to]!kind, who
#else
     :: connected[to] -> down[to]!kind, who
#endif
     fi;
     to++
  od
}

/* Server::fail, Server::leave */
inline finish(kind, who) {
  if
#ifdef ENDS_TWICE
  :: gone[who] && !failed[who]
  :: !gone[who] || failed[who] ->
#else
  :: gone[who]
  :: !gone[who] ->
#endif
     gone[who] = 1;
     failed[who] = (kind == FAILED);
     if :: known[who] -> tell(kind, who) :: else fi
  fi
}

/* Server::serve_member; greet for HELLO */
inline serve() {
  up[from]?what, who;
  if
  :: what == HELLO -> connected[from] = 1;
#ifndef NO_PAST
     to = 0;
     do
     :: to == events -> break
     :: else -> down[from]!kind_of[to], whose[to]; to++
     od
#endif
  :: what == INTRODUCE -> known[from] = 1; tell(JOINED, from)
  :: what == ACCUSE ->
     if
#ifndef GIVEN_UP_ACCUSES
     :: gone[from]
#endif
     :: else -> finish(FAILED, who)
     fi
  :: what == GOODBYE -> finish(LEFT, from)
  :: what == CLOSED -> connected[from] = 0; finish(FAILED, from)
  fi;
  what = 0; who = 0; to = 0
}

active proctype Launcher() {
  mtype what;
  byte from, who, to;
  d_step { connected[0] = 1; known[0] = 1; connected[1] = 1; known[1] = 1 }
end:
  do
  :: atomic { nempty(up[0]) -> from = 0; serve() }
  :: atomic { nempty(up[1]) -> from = 1; serve() }
  :: atomic { nempty(up[2]) -> from = 2; serve() }
  od
}

/* The next event, to the users of this process. */
inline tell_users(kind, who) {
  assert(told < events && kind_of[told] == kind && whose[told] == who);
  if
  :: kind != JOINED -> assert(HAS(parted, who) || kind == LEFT); assert(!HAS(ends, who));
     ADD(ends, who)
  :: else
  fi;
  told++
}

inline doubt(who) {
  troubles--;
  ADD(believed, who);
#ifdef TOLD_AT_ONCE
  tell_users(FAILED, who)
#endif
}

/* The failure detector's thread: it accuses, and then breaks the connections. */
inline part_from(who) {
#ifndef SILENT_DOUBT
  up[self]!ACCUSE, who;
#endif
  ADD(parted, who)
}

#define A ((self + 1) % ALL)
#define B ((self + 2) % ALL)
#define MAY_DOUBT(who) \
  (troubles && member && HAS(present, who) && !HAS(believed | left, who) && !own_failure)
#define UNHANDLED(who) (HAS(believed, who) && !HAS(parted, who))
#ifdef TOLD_EARLY
#define ALL_HANDLED true
#else
#define ALL_HANDLED (!UNHANDLED(A) && !UNHANDLED(B))
#endif
#define MAY_TELL (member && !own_failure && told < heard && whose[told] != self && ALL_HANDLED)

active [ALL] proctype Process() {
  byte self = _pid - 1;
  bit member, asked, introduced;
  bit own_failure;
  byte present, believed, left, parted;  /* sets of other processes */
  byte ends;                             /* of which its users have been told */
  byte heard, told;                      /* events */
  mtype kind;
  byte who;
  d_step { member = (self != NEWCOMER); introduced = member; asked = member; present = 3 }
  do
  :: atomic { !asked -> asked = 1; up[self]!HELLO, 0 }
  :: atomic { !introduced && connected[self] -> introduced = 1; up[self]!INTRODUCE, 0 }
  :: atomic { down[self]?kind, who ->
       assert(kind == kind_of[heard] && who == whose[heard]);
       heard++;
       if
          /* Its users are told of nothing before. */
       :: who == self && kind == JOINED -> member = 1; told = heard
       :: who == self && kind == FAILED -> own_failure = 1
       :: who == self && kind == LEFT
       :: who != self && kind == JOINED -> ADD(present, who)
       :: who != self && kind == FAILED -> if :: !HAS(left, who) -> ADD(believed, who) :: else fi
       :: who != self && kind == LEFT -> if :: !HAS(believed, who) -> ADD(left, who) :: else fi
       fi;
       kind = 0; who = 0 }
  :: atomic { MAY_DOUBT(A) -> doubt(A) }
  :: atomic { MAY_DOUBT(B) -> doubt(B) }
  :: atomic { UNHANDLED(A) -> part_from(A) }
  :: atomic { UNHANDLED(B) -> part_from(B) }
  :: atomic { MAY_TELL -> tell_users(kind_of[told], whose[told]) }
  :: atomic { troubles && member -> troubles--;
       over[self] = 1; up[self]!GOODBYE, 0; up[self]!CLOSED, 0 }; break
  :: atomic { troubles && asked -> troubles--; over[self] = 1; up[self]!CLOSED, 0 }; break
  :: timeout ->
     if
     :: failed[self] -> assert(own_failure)
     :: else ->
        assert(told == events);
        assert(!HAS(believed, A) || gone[A]);
        assert(!HAS(believed, B) || gone[B])
     fi;
     assert(over[0] || over[1] || over[2] || !(failed[0] && failed[1] && failed[2]));
     break
  od
}
