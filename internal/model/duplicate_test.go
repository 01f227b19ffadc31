package model

// duplicates are configurations of stores behind something that may deliver a write twice.
var duplicates = []config{
	{
		Name: "dup-direct", About: "direct writes, delivered twice; small ring",
		Init: "v", Duplicates: 2, Lost: 1, Ring: 1,
		Clients: cs{one("D", 0, 2), one("E", 1, 2), one("F", 2, 2)},
		Txns:    ts{w("D", "m"), w("E", "m"), w("F", "w")},
	},
	{
		Name: "dup-par", About: "a parallel commit, its writes and its rivals' delivered twice",
		Init: "vv", Duplicates: 2, Kills: 1, Ring: 1,
		Clients: cs{one("P", 0, 2), one("D", 1, 2), one("E", 2, 1)},
		Txns:    ts{w("P", "mm"), w("D", "m"), w("E", ".w")},
	},
	{
		Name: "dup-val", About: "a validated commit, its commit write delivered twice; rivals",
		Init: "vvv", Duplicates: 2, Ring: 1,
		Clients: cs{one("V", 0, 1), chain("D", 2, 1, 2), one("E", 3, 1)},
		Txns: ts{
			w("V", "wwr"), w("D1", "mm"), w("D2", "m").cached("xx"), w("E", ".w"),
		},
	},
	{
		Name: "dup-esc", About: "locks, their values and the kill of them delivered twice",
		Init: "vv", Duplicates: 2, Kills: 1, Beats: 1,
		Clients: cs{one("E", 0, 2), one("D", 1, 2), one("R", 2, 0)},
		Txns:    ts{w("E", "mm").lockFirst(), w("D", "m"), ro("R", "rr")},
	},
	{
		Name: "dup-sweep", About: "a blind insert delivered twice, beside a sweep",
		Init: "-t", Duplicates: 1, Lost: 1, Kills: 1,
		Clients: cs{one("I", 0, 2), one("D", 1, 1), one("S", 2, 0)},
		Txns:    ts{w("I", "ii"), w("D", "m"), sweep("S", ".x")},
	},
	{
		Name: "dup-absent", About: "inserts and deletes delivered twice, their tombstones swept",
		Init: "-", Duplicates: 2, Ring: 1,
		Clients: cs{one("I", 0, 1), one("X", 1, 1), one("S", 2, 0), one("J", 3, 1)},
		Txns:    ts{w("I", "i"), w("X", "d"), sweep("S", "x"), w("J", "w")},
	},
}
