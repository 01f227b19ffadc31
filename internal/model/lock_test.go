package model

// locking are configurations of locks and heartbeats. Time is a free choice: a heartbeat may come
// or not, be late or lost, and whoever waits may kill at any moment.
var locking = []config{
	{
		Name: "beat-locks", About: "locks with heartbeats; a killer that reads and writes",
		Init: "vv", Kills: 1, Beats: 2, Lost: 1,
		Clients: cs{one("E", 0, 2), one("D", 1, 1)},
		Txns:    ts{w("E", "mm").lockFirst().oneWave(), w("D", "m")},
	},
	{
		Name: "beat-locks-two", About: "two who lock the same keys from either end, heartbeats",
		Init: "vv", Kills: 2, Beats: 1,
		Clients: cs{one("E", 0, 1).resolves(), one("F", 1, 2)},
		Txns: ts{
			w("E", "mr").lockFirst(), lateKey(w("F", "rm").lockFirst(), 1),
		},
	},
	{
		Name: "beat-crash", About: "who has locks crashes or leaves, a heartbeat on its way",
		Init: "vv", Kills: 1, Beats: 1, Crash: 1,
		Clients: cs{one("E", 0, 1).crashes().quits(), one("D", 1, 2), one("R", 2, 0)},
		Txns:    ts{w("E", "mm").lockFirst(), w("D", ".m"), ro("R", "rr")},
	},
	{
		Name: "beat-val", About: "a validation with heartbeats; a killer, a writer of what is read",
		Init: "vv", Kills: 1, Beats: 2, Lost: 1,
		Clients: cs{one("V", 0, 2), one("D", 1, 1), one("E", 2, 1)},
		Txns:    ts{w("V", "mr"), w("D", "m"), w("E", ".m")},
	},
	{
		Name: "lock-values", About: "locks get their values in a wave, an answer is lost",
		Init: "vv", Kills: 1, Lost: 2,
		Clients: cs{one("E", 0, 2), one("D", 1, 1), one("R", 2, 0)},
		Txns:    ts{w("E", "mm").lockFirst().oneWave(), w("D", ".m"), ro("R", "rr")},
	},
}
