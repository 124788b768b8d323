// SPDX-License-Identifier: MIT
// From one view to the next: wedge, trim, attempts, commit; with a death at any step.
/* The subject: GroupCore. Three members of a view receive POSITIONS positions of the order by
   turns, at any pace, and deliver those that all have received by their rows. Any member dies at
   any step, the leader too; others learn of it later. With JOIN a process is brought up to date by
   member 1, and joins; then it may be the one that dies.
   The agreement is taken as it is (tests/sst/model/agreement.pml): a sequence of decisions. What is
   decided next was proposed by somebody who knew all before, dead or alive; everybody learns the
   decisions in their order, later.
   Checked: what anybody has delivered, dead or alive, is the beginning of what all have delivered
   that go on; all that install the next view have delivered the same, and the one that joins has
   that state; nobody installs an attempt when another one is committed; and the living members
   install a view (no invalid end state).

   The mutants, which must fail:
   MUTANT_NO_WEDGE: a member goes on receiving after it has said how much it has.
   MUTANT_TRIM_OF_ONE: the leader proposes as trim what it has received itself.
   MUTANT_NO_COMMIT: a member installs the view when it has made its tables.
   MUTANT_COMMIT_EARLY: the leader commits when it has made its tables itself.
   MUTANT_NO_RETRY: an attempt that a death has broken is not followed by another one. */
/* spin-check: cc="-DSAFETY -DMEMLIM=6000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DJOIN" cc="-DSAFETY -DMEMLIM=6000 -DCOLLAPSE" expect=pass */
/* spin-check: spin="-DMUTANT_NO_WEDGE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_TRIM_OF_ONE" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_COMMIT" cc="-DSAFETY" run="-E" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_COMMIT_EARLY" cc="-DSAFETY" expect=fail error="assertion" */
/* spin-check: spin="-DMUTANT_NO_RETRY" cc="-DSAFETY" expect=fail error="invalid end" */

#define OLD 3
#ifdef JOIN
#define M 4
#else
#define M 3
#endif
#define JOINER 3
#define DONOR 1
#define POSITIONS 2
#define SLOTS 6
#define NOBODY 7
#define IN(set, m) (((set) >> (m)) & 1)

/* Decisions: their kind, who stays (or is removed), the trim, the attempt. */
#define REMOVE 1
#define NEXT 2
#define COMMIT 3
typedef Entry { byte kind; byte rows; byte upto; byte number }
Entry decided[SLOTS];
byte slots;              /* decided so far */
Entry proposed[OLD];     /* the last proposal of each, and the slot that it is for, plus 1 */
byte proposed_for[OLD];

byte received[OLD];
byte delivered[OLD];
byte wedged[OLD];        /* what it had received, plus 1; 0: it is not wedged */
byte known[OLD];         /* decisions that it knows */
byte included[OLD];      /* who takes part, by those decisions */
byte attempt[OLD];       /* the last attempt that it knows, who is in it, and its trim */
byte stay[OLD];
byte trim[OLD];
byte came[M];            /* the attempt whose tables it has begun to make */
byte made[M];
byte broken[OLD];
byte installed[M];       /* an attempt */
byte committed;          /* the attempt that somebody has installed, and its trim */
byte committed_trim;
byte dead = NOBODY;
bool knows[OLD];         /* of the death */
byte cut;                /* the attempt for which the state was handed over */
byte handed;             /* what the donor had delivered then */

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define STABLE MIN(received[0], MIN(received[1], received[2]))
#define GONE(x) (!IN(included[m], x) || (knows[m] && dead == (x)))
/* m is the first that it takes for alive. */
#define LEADS (IN(included[m], m) && (m < 1 || GONE(0)) && (m < 2 || GONE(1)))
#define KNOWS_DEAD_OF(set) (knows[m] && IN(set, dead))
/* All that are in the set have this. */
#define ALL_OLD(set, has) \
  ((!IN(set, 0) || has(0)) && (!IN(set, 1) || has(1)) && (!IN(set, 2) || has(2)))
#define IS_WEDGED(x) (wedged[x] != 0)
#define HAS_MADE(x) (made[x] == attempt[m])
#define HAS_COME(x) (came[x] == attempt[m])
#define NOT_BROKEN(x) (broken[x] != attempt[m])
#ifdef JOIN
#define JOINS (attempt[m] == 0 && IN(included[m], DONOR) && !(knows[m] && dead == JOINER) -> 8 : 0)
#define JOINER_HAS(what) (!IN(stay[m], JOINER) || what[JOINER] == attempt[m])
#else
#define JOINS 0
#define JOINER_HAS(what) true
#endif
#define LEFT(x) (IN(included[m], x) -> wedged[x] - 1 : POSITIONS)
#ifdef MUTANT_TRIM_OF_ONE
#define TRIM received[m]
#else
#define TRIM MIN(LEFT(0), MIN(LEFT(1), LEFT(2)))
#endif
#ifdef MUTANT_COMMIT_EARLY
#define MAY_COMMIT HAS_MADE(m)
#else
#define MAY_COMMIT ALL_OLD(stay[m], HAS_MADE)
#endif
#define IS_BROKEN \
  ((stay[m] & 7 & ~included[m]) != 0 || !ALL_OLD(stay[m], NOT_BROKEN) || \
   (IN(stay[m], JOINER) && knows[m] && dead == JOINER))

inline propose(k, w, t, a) {
  proposed[m].kind = k;
  proposed[m].rows = w;
  proposed[m].upto = t;
  proposed[m].number = a;
  proposed_for[m] = known[m] + 1
}

/* What the leader m wants, by what it sees now. It may be decided later, or never. */
#define MAY_PROPOSE (dead != m && !installed[m] && LEADS && proposed_for[m] != known[m] + 1)
inline lead() {
  least = TRIM;
  who = included[m] | JOINS;
  if
  :: KNOWS_DEAD_OF(included[m] & 7) -> propose(REMOVE, 1 << dead, 0, 0)
  :: else ->
     if
     :: attempt[m] == 0 -> propose(NEXT, who, least, 1)
     :: attempt[m] != 0 && MAY_COMMIT -> propose(COMMIT, stay[m], trim[m], attempt[m])
     :: else -> propose(NEXT, included[m], least, attempt[m] + 1)
     fi
  fi
}
#define HAS_A_WISH \
  (KNOWS_DEAD_OF(included[m] & 7) || \
   (ALL_OLD(included[m], IS_WEDGED) && (attempt[m] == 0 || MAY_COMMIT || RETRY)))
#ifdef MUTANT_NO_RETRY
#define RETRY false
#else
#define RETRY IS_BROKEN
#endif

/* x installs the attempt a, whose trim is t. */
inline install(x, a, t) {
  assert(made[x] == a);
  assert(committed == 0 || (committed == a && committed_trim == t));
  committed = a;
  committed_trim = t;
  installed[x] = a;
  /* Nobody has delivered more, dead or alive. */
  assert(delivered[0] <= t && delivered[1] <= t && delivered[2] <= t)
}

inline follow() {
  if
  :: decided[known[m]].kind == REMOVE -> included[m] = included[m] & ~decided[known[m]].rows
  :: decided[known[m]].kind == NEXT ->
     attempt[m] = decided[known[m]].number;
     stay[m] = decided[known[m]].rows;
     trim[m] = decided[known[m]].upto;
     assert(delivered[m] <= trim[m] && trim[m] <= received[m]);
     delivered[m] = trim[m];
     if
     :: m == DONOR && IN(stay[m], JOINER) -> cut = attempt[m]; handed = delivered[m]
     :: else
     fi
  :: decided[known[m]].kind == COMMIT ->
     assert(delivered[m] == decided[known[m]].upto);
     if
     :: installed[m] == 0 -> install(m, decided[known[m]].number, decided[known[m]].upto)
     :: else
     fi
  fi;
  known[m] = known[m] + 1
}

proctype member(byte m) {
  byte least, who;
  do
#ifdef MUTANT_NO_WEDGE
  :: atomic { dead != m && received[m] < POSITIONS -> received[m] = received[m] + 1 }
#else
  :: atomic { dead != m && received[m] < POSITIONS && !wedged[m] -> received[m] = received[m] + 1 }
#endif
  :: atomic { dead != m && attempt[m] == 0 && delivered[m] < STABLE ->
       delivered[m] = delivered[m] + 1 }
  :: atomic { dead != m && dead != NOBODY && !knows[m] -> knows[m] = true }
  /* A death, another that is wedged, or a reason of the leader. */
  :: atomic { dead != m && !wedged[m] &&
              (knows[m] || wedged[0] || wedged[1] || wedged[2] || LEADS) ->
       wedged[m] = received[m] + 1 }
  :: atomic { MAY_PROPOSE && HAS_A_WISH -> lead() }
  :: atomic { dead != m && known[m] < slots -> follow() }
  :: atomic { dead != m && IN(stay[m], m) && came[m] != attempt[m] -> came[m] = attempt[m] }
  :: atomic { dead != m && attempt[m] != 0 && came[m] == attempt[m] && made[m] != attempt[m] &&
              broken[m] != attempt[m] && ALL_OLD(stay[m], HAS_COME) && JOINER_HAS(made) ->
       made[m] = attempt[m];
#ifdef MUTANT_NO_COMMIT
       install(m, attempt[m], trim[m])
#endif
     }
  :: atomic { dead != m && attempt[m] != 0 && came[m] == attempt[m] && made[m] != attempt[m] &&
              broken[m] != attempt[m] && IN(stay[m], JOINER) && KNOWS_DEAD_OF(stay[m]) ->
       broken[m] = attempt[m] }
  :: atomic { dead == NOBODY -> dead = m }
  :: dead == m -> break
  :: installed[m] -> break
  od
}

#ifdef JOIN
#define HAS_CUT_COME(x) (came[x] == cut)
proctype joiner() {
end:
  do
  :: atomic { dead != JOINER && cut != 0 && came[JOINER] == 0 -> came[JOINER] = cut }
  :: atomic { dead != JOINER && came[JOINER] != 0 && made[JOINER] == 0 &&
              (HAS_CUT_COME(0) || dead == 0) && (HAS_CUT_COME(1) || dead == 1) &&
              (HAS_CUT_COME(2) || dead == 2) -> made[JOINER] = cut }
  :: atomic { dead != JOINER && made[JOINER] != 0 &&
              (installed[0] == cut || installed[1] == cut || installed[2] == cut) ->
       install(JOINER, cut, handed);
       break }
  :: atomic { dead == NOBODY -> dead = JOINER; break }
  od
}
#endif

inline decide(p) {
  assert(slots + 1 < SLOTS);
  decided[slots].kind = proposed[p].kind;
  decided[slots].rows = proposed[p].rows;
  decided[slots].upto = proposed[p].upto;
  decided[slots].number = proposed[p].number;
  slots = slots + 1
}

/* A majority decides what was proposed for the next slot. Who knows the commit has left. */
#define GOES_ON (slots == 0 || decided[slots - 1].kind != COMMIT)
proctype agreement() {
end:
  do
  :: atomic { GOES_ON && proposed_for[0] == slots + 1 -> decide(0) }
  :: atomic { GOES_ON && proposed_for[1] == slots + 1 -> decide(1) }
  :: atomic { GOES_ON && proposed_for[2] == slots + 1 -> decide(2) }
  od
}

init {
  atomic {
    included[0] = 7;
    included[1] = 7;
    included[2] = 7;
#ifdef JOIN
    run joiner();
#endif
    run agreement();
    run member(0);
    run member(1);
    run member(2)
  }
}
