package model

type mutation struct {
	Name, About string
	Set         func(m *mut)
	On          []string // configurations, tried in this order
	Survives    bool     // expected to break nothing
}

var mutations = []mutation{
	// Committing
	{
		Name:  "no-validation",
		About: "skip validation",
		Set:   func(m *mut) { m.noValidation = true },
		On:    []string{"write-skew", "val-direct"},
	},
	{
		Name:  "version-only",
		About: "validate a cell with an undecided intent by its version alone",
		Set:   func(m *mut) { m.versionOnly = true },
		On:    []string{"par-ro-parallel", "ro-cached"},
	},
	{
		Name:  "validate-early",
		About: "validation before all intents have landed",
		Set:   func(m *mut) { m.validateEarly = true },
		On:    []string{"write-skew"},
	},
	{
		Name: "cas-by-version",
		About: "a CAS at the version read stands for the value read, though its intent was " +
			"undecided then",
		Set: func(m *mut) { m.casByVersion = true },
		On:  []string{"par-par", "fold-resolve", "crash-observers"},
	},
	{
		Name:  "ro-skip-one",
		About: "read-only, parallel reads, validating all but one",
		Set:   func(m *mut) { m.roSkipOne = true },
		On:    []string{"par-ro-parallel", "ro-two-direct"},
	},
	{
		Name:  "ro-skip",
		About: "read-only, no validation",
		Set:   func(m *mut) { m.roSkip = true },
		On:    []string{"par-ro-sequential", "ro-two-direct"},
	},
	{
		Name: "ro-eager",
		About: "sequential read-only: the last request sent after the earlier GET was answered, " +
			"but before its status was known",
		Set: func(m *mut) { m.roEager = true },
		On:  []string{"par-ro-sequential"},
	},
	{
		Name: "ro-early-validate",
		About: "sequential read-only: the earlier keys validated before the status of the last " +
			"one is known",
		Set: func(m *mut) { m.roEarlyValidate = true },
		On:  []string{"par-ro-sequential"},
	},
	{
		Name:  "ro-trust-cache",
		About: "single-key read-only served from the cache without a request",
		Set:   func(m *mut) { m.roTrustCache = true },
		On:    []string{"ro-cached"},
	},
	{
		Name:  "reuse-id",
		About: "new attempt with the same id while a write of the old one may land",
		Set:   func(m *mut) { m.reuseID = true },
		On:    []string{"second-attempt", "par-par"},
	},
	{
		Name:  "commit-blind",
		About: "commit CAS of the primary without checking the version",
		Set:   func(m *mut) { m.commitBlind = true },
		On:    []string{"val-crash-obs", "val-direct"},
	},
	// Status, killing
	{
		Name:  "no-confirm",
		About: "skip the confirming read of s",
		Set:   func(m *mut) { m.noConfirm = true },
		On:    []string{"fold-resolve", "par-reader", "chain-three", "fold-resolve-3"},
	},
	{
		Name:  "no-confirm (pending)",
		About: "the same, validated owner",
		Set:   func(m *mut) { m.noConfirm = true },
		On:    []string{"fold-val", "val-mark-drop"},
	},
	{
		Name:  "confirm-first",
		About: "the confirming read done before the wave",
		Set:   func(m *mut) { m.confirmFirst = true },
		On:    []string{"fold-resolve", "par-reader", "chain-three", "fold-resolve-3"},
	},
	{
		Name:  "through-pending",
		About: "read through a pending intent whose primary holds it",
		Set:   func(m *mut) { m.throughPending = true },
		On:    []string{"val-two-writes", "write-skew", "val-direct"},
	},
	{
		Name:  "base-when-all-hold",
		About: "a reader uses the committed value when all hold",
		Set:   func(m *mut) { m.baseWhenAllHold = true },
		On:    []string{"par-reader"},
	},
	{
		Name:  "expected-dead",
		About: "staged treated as dead when a member is at its expected version",
		Set:   func(m *mut) { m.expectedDead = true },
		On:    []string{"crash-observers"},
	},
	{
		Name:  "kill-no-fence",
		About: "kill without a fence",
		Set:   func(m *mut) { m.killNoFence = true },
		On:    []string{"crash-observers"},
	},
	{
		Name:  "kill-guess",
		About: "a fence refused or unknown counts as a kill",
		Set:   func(m *mut) { m.killGuess = true },
		On:    []string{"crash-observers", "par-par"},
	},
	{
		Name:  "fence-anywhere",
		About: "fence on a member that is not at its expected version",
		Set:   func(m *mut) { m.fenceAnywhere = true },
		On:    []string{"crash-observers"},
	},
	// Folding
	{
		Name:  "fold-no-mark",
		About: "fold a committed member without the mark",
		Set:   func(m *mut) { m.foldNoMark = true },
		On:    []string{"fold-resolve", "crash-observers"},
	},
	{
		Name:  "fold-no-mark (no ghost)",
		About: "the same, without the ghost assertion",
		Set:   func(m *mut) { m.foldNoMark = true; m.noGhost = true },
		On:    []string{"fold-resolve", "crash-observers"},
	},
	{
		Name:  "drop-early",
		About: "drop a mark when one member still holds the intent",
		Set:   func(m *mut) { m.dropEarly = true },
		On:    []string{"fold-resolve", "crash-observers"},
	},
	{
		Name:  "drop-early (no ghost)",
		About: "the same, without the ghost assertion",
		Set:   func(m *mut) { m.dropEarly = true; m.noGhost = true },
		On:    []string{"fold-resolve", "crash-observers"},
	},
	{
		Name:  "drop-marks",
		About: "not carrying a mark",
		Set:   func(m *mut) { m.dropMarks = true },
		On:    []string{"chain-dead", "crash-observers"},
	},
	{
		Name:  "drop-marks (no ghost)",
		About: "the same, without the ghost assertion",
		Set:   func(m *mut) { m.dropMarks = true; m.noGhost = true },
		On:    []string{"chain-dead", "crash-observers"},
	},
	{
		Name: "bare secondaries (no ghost)",
		About: "secondaries of a pending T are folded without its mark, as only the primary is " +
			"asked for the status",
		Set: func(m *mut) { m.bareSecondary = true; m.noGhost = true },
		On:  []string{"fold-val-3"},
	},
	{
		Name:  "off-undecided",
		About: "escalated T: a member counts as seen off before T was known committed",
		Set:   func(m *mut) { m.clearEarly = true },
		On:    []string{"esc-late-key", "chain-esc", "esc-wave", "esc-par", "esc-direct"},
	},
	{
		Name:  "off-before",
		About: "a member counts as seen off that was read before T began",
		Set:   func(m *mut) { m.clearStale = true },
		On:    []string{"chain-superset", "fold-two", "chain-three", "relief-1"},
	},
	// Unknown answers
	{
		Name:  "unknown-fails",
		About: "treat unknown as failure",
		Set:   func(m *mut) { m.unknownFails = true },
		On:    []string{"lost-direct", "lost-par"},
	},
	{
		Name:  "commit-lost",
		About: "pending, the commit write sent and unknown, the primary off: dead",
		Set:   func(m *mut) { m.commitLost = true },
		On:    []string{"lost-doubt-val", "lost-val"},
	},
	{
		Name: "read-before",
		About: "owner in doubt: one is off, another held T's intent when its answer came, " +
			"before that",
		Set: func(m *mut) { m.fateBefore = true },
		On:  []string{"lost-doubt", "lost-doubt-3"},
	},
	{
		Name:  "lock-tells",
		About: "owner in doubt: a member only locked tells, although locks do not enter recent",
		Set:   func(m *mut) { m.lockTells = true },
		On:    []string{"lost-locks", "locks"},
	},
	// Absence, garbage
	{
		Name:  "no-lift",
		About: "an observer concludes from a condemned tombstone",
		Set:   func(m *mut) { m.noLift = true },
		On:    []string{"sweep-blind", "sweep-blind-kill"},
	},
	{
		Name:  "no-lift (owner)",
		About: "an owner concludes from a condemned tombstone",
		Set:   func(m *mut) { m.noOwnLift = true },
		On:    []string{"sweep-blind-direct", "sweep-doubt"},
	},
	{
		Name:  "sweep-anytime",
		About: "a condemned tombstone swept before one horizon has passed",
		Set:   func(m *mut) { m.sweepAnytime = true },
		On:    []string{"sweep-insert"},
	},

	{
		Name: "earlier: refusal",
		About: "any refusal proves the attempt dead. Wrong: the refused copy may be the second " +
			"of bytes that have landed",
		Set: func(m *mut) { m.noReread = true },
		On:  []string{"lost-direct", "lost-par"},
	},
	{
		Name: "earlier: recent at any time",
		About: "any member whose recent reaches back tells. Wrong: it must be read after the " +
			"attempt was found final",
		Set: func(m *mut) { m.fateEarly = true },
		On:  []string{"lost-par", "lost-par-2"},
	},
	{
		Name: "earlier: hot doubt",
		About: "a staged attempt in doubt asks its members, although some intent was never " +
			"sent. Wrong: ErrInDoubt where the outcome is known",
		Set: func(m *mut) { m.hotDoubt = true },
		On:  []string{"lost-hot"},
	},
	{
		Name: "earlier: sweep marked",
		About: "a tombstone is swept although it carries a mark. Wrong: while any member holds " +
			"the intent, the mark is the proof",
		Set: func(m *mut) { m.sweepMarked = true },
		On:  []string{"sweep-marked"},
	},
	{
		Name: "earlier: sweep in doubt",
		About: "a tombstone is swept while the owner of an insert is still in doubt. Wrong: the " +
			"absence comes back and tells \"never landed\"",
		Set: func(m *mut) { m.sweepDoubt = true },
		On:  []string{"sweep-recent"},
	},
	{
		Name: "earlier: one-step sweep",
		About: "an old tombstone is swept unannounced. Wrong: an observer takes it as off, it " +
			"vanishes, and a blind insert lands",
		Set: func(m *mut) { m.oneStep = true },
		On:  []string{"sweep-blind"},
	},
	{
		Name: "earlier: one-step sweep, direct",
		About: "the same, owner. Wrong: the owner takes it as \"did not land\", it vanishes, " +
			"and the insert lands",
		Set: func(m *mut) { m.oneStep = true },
		On:  []string{"sweep-blind-direct"},
	},
	{
		Name: "earlier: insert goes on",
		About: "an insert refused by a tombstone goes on, as the same attempt, at that version. " +
			"Wrong: observers have seen that member off",
		Set: func(m *mut) { m.insertGoesOn = true },
		On:  []string{"insert-tombstone"},
	},
	{
		Name: "earlier: ranges",
		About: "in a scan, names at the same version are not looked at again. Wrong: an " +
			"undecided intent may have committed since",
		Set: func(m *mut) { m.versionOnly = true },
		On:  []string{"range"},
	},
	{
		Name: "earlier: relief with long lists",
		About: "a mark goes when every member is seen off. Wrong with a long list: once the " +
			"primary has neither intent nor mark, nobody knows the members",
		Set: func(m *mut) { m.noListRule = true },
		On:  []string{"long-relief", "long-relief-2"},
	},

	{
		Name:  "stricter: condemned",
		About: "a condemned tombstone counts as off for who knows that T committed",
		Set:   func(m *mut) { m.condemnedOff = true },
		On: []string{
			"sweep-relief", "sweep-blind-kill", "sweep-val", "sweep-marked", "sweep-recent",
		},
		Survives: true,
	},
	{
		Name: "stricter: at expected",
		About: "owner in doubt: one is off and, read after it, another is at its expected " +
			"version: dead, instead of sending it again",
		Set:      func(m *mut) { m.expectedTells = true },
		On:       []string{"lost-doubt", "lost-doubt-val", "lost-par", "lost-par-2", "lost-hot"},
		Survives: true,
	},
	{
		Name:  "stricter: seen off",
		About: "a member seen off counts even if T was not known committed then (but had begun)",
		Set:   func(m *mut) { m.clearEarly = true },
		On: []string{
			"fold-resolve", "fold-val", "fold-val-3", "chain-dead", "crash-three", "relief-1-3",
			"long-relief",
		},
		Survives: true,
	},
	{
		Name:  "duplicate: refusal",
		About: "a refusal proves the attempt dead, though somebody may have repeated the write",
		Set:   func(m *mut) { m.duplicateRefused = true },
		On:    []string{"dup-direct", "dup-par"},
	},
	{
		Name:  "duplicate: commit write",
		About: "a refused commit write never lands, though somebody may have repeated it",
		Set:   func(m *mut) { m.duplicateCommit = true },
		On:    []string{"dup-val"},
	},
	{
		Name: "duplicate: off",
		About: "a refused write whose cell is off proves the attempt dead, though its recent " +
			"attempts do not reach back",
		Set: func(m *mut) { m.duplicateOff = true },
		On:  []string{"dup-direct", "dup-par", "dup-val"},
	},
	{
		Name:  "duplicate: condemned",
		About: "the owner concludes from a condemned tombstone that refused its write",
		Set:   func(m *mut) { m.noOwnLift = true },
		On:    []string{"dup-sweep", "dup-absent"},
	},
	{
		Name:  "clock: belief",
		About: "that an attempt is dead is believed for ever",
		Set:   func(m *mut) { m.deadForever = true },
		On:    []string{"clock-belief"},
	},
	{
		Name:  "clock: apart",
		About: "writes that were answered far apart are not looked at again",
		Set:   func(m *mut) { m.notTogether = true },
		On:    []string{"clock-insert"},
	},
	{
		Name:  "clock: resend",
		About: "an attempt that has expired sends a write again",
		Set:   func(m *mut) { m.lateResend = true },
		On:    []string{"clock-val", "clock-lost"},
	},
	{
		Name:  "clock: conclusion",
		About: "an attempt that has expired concludes from a cell that it is dead",
		Set:   func(m *mut) { m.lateTells = true },
		On:    []string{"clock-val"},
	},
	{
		Name:  "clock: horizon",
		About: "a condemned tombstone goes before a horizon has passed",
		Set:   func(m *mut) { m.sweepAnytime = true },
		On:    []string{"clock-insert"},
	},
	{
		Name:  "clock: condemned",
		About: "an observer concludes from a condemned tombstone, beside the store's clock",
		Set:   func(m *mut) { m.noLift = true },
		On:    []string{"clock-lost", "clock-observer"},
	},
	{
		Name:  "beat: blind",
		About: "a heartbeat puts the intent back, whatever has become of the primary",
		Set:   func(m *mut) { m.beatBlind = true },
		On:    []string{"beat-val", "beat-locks"},
	},
	{
		Name:  "locks: a value lost",
		About: "locks that may not have got their values are committed",
		Set:   func(m *mut) { m.updateLost = true },
		On:    []string{"lock-values"},
	},
	{
		Name:  "locks: old values",
		About: "who loses its locks does not run the function again under the new ones",
		Set:   func(m *mut) { m.lockOldValues = true },
		On:    []string{"beat-locks", "lock-values"},
	},
	{
		Name:  "range: not validated",
		About: "what a scan has read is not listed again",
		Set:   func(m *mut) { m.notListed = true },
		On:    []string{"scan-phantom"},
	},
	{
		Name:  "range: new names",
		About: "names that were not there before count as nothing",
		Set:   func(m *mut) { m.newIgnored = true },
		On:    []string{"scan-phantom", "scan-insert"},
	},
	{
		Name:  "range: gone",
		About: "a name that is gone counts as unchanged",
		Set:   func(m *mut) { m.goneIgnored = true },
		On:    []string{"scan-gone"},
	},
	{
		Name:  "range: version",
		About: "a name at the version seen is as it was, though its intent was undecided then",
		Set:   func(m *mut) { m.listedAsRead = true },
		On:    []string{"scan-insert", "scan-read"},
	},
	{
		Name:  "range: tombstone",
		About: "a name that was a tombstone, and is at another version, counts as unchanged",
		Set:   func(m *mut) { m.tombstoneAsRead = true },
		On:    []string{"scan-sweep"},
	},
	{
		Name:  "group: who left",
		About: "a group commits what a rider has done who left before",
		Set:   func(m *mut) { m.leftIn = true },
		On:    []string{"group-direct", "group-par"},
	},
	{
		Name:  "group: no doubt",
		About: "who leaves a committing group is told that nothing was done",
		Set:   func(m *mut) { m.leftSure = true },
		On:    []string{"group-par", "group-direct"},
	},
	{
		Name:  "group: reads",
		About: "what a rider has only read is not validated",
		Set:   func(m *mut) { m.noValidation = true },
		On:    []string{"group-skew"},
	},
	{
		Name:  "group: staged",
		About: "a rider does not see what those before have staged",
		Set:   func(m *mut) { m.ridersApart = true },
		On:    []string{"group-direct"},
	},
	{
		Name:  "clock: absent",
		About: "a write is sent again where nothing is expected, and nothing is",
		Set:   func(m *mut) { m.resendAbsent = true },
		On:    []string{"clock-direct", "clock-lost-both"},
	},
	{
		Name:  "value: linked over nothing, answer lost",
		About: "an external value is linked where there is no object",
		Set:   func(m *mut) { m.linkAbsent = true },
		On:    []string{"value-lost"},
	},
	{
		Name:  "value: linked over nothing, crash",
		About: "the same, and its owner crashes",
		Set:   func(m *mut) { m.linkAbsent = true },
		On:    []string{"value-crash"},
	},
	{
		Name:  "value: no fence",
		About: "a sweep removes a value without a rewrite of its cell",
		Set:   func(m *mut) { m.notFenced = true },
		On:    []string{"value-fence"},
	},
	{
		Name:  "value: old upload",
		About: "an upload is linked however old it is",
		Set:   func(m *mut) { m.oldUpload = true },
		On:    []string{"value-fence"},
	},
	{
		Name:  "value: late commit",
		About: "locks that have expired are committed",
		Set:   func(m *mut) { m.lateCommit = true },
		On:    []string{"value-locks"},
	},
}
