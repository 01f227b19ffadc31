package model

// grouped are configurations of transactions of one handle that are committed together.
var grouped = []config{
	{
		Name: "group-par", About: "two in a group, one may leave; rivals and a reader",
		Init: "vv", Kills: 1,
		Clients: cs{one("G", 0, 2).leaves(2, 1), one("D", 3, 1), one("R", 4, 0)},
		Txns: ts{
			w("G", "mm").carries(1, 2), w("A", "mm"), w("B", ".m"), w("D", "m"), ro("R", "rr"),
		},
	},
	{
		Name: "group-direct", About: "two in a group at one key, an answer lost, one may leave",
		Init: "v", Lost: 2, Ring: 1,
		Clients: cs{one("G", 0, 2).leaves(2, 1), one("D", 3, 2)},
		Txns:    ts{w("G", "m").carries(1, 2), w("A", "m"), w("B", "m"), w("D", "m")},
	},
	{
		Name: "group-val", About: "two in a group, one reads what it does not write, one leaves",
		Init: "vvv", Kills: 1,
		Clients: cs{one("G", 0, 2).leaves(2, 1), one("D", 3, 1), one("E", 4, 1)},
		Txns: ts{
			w("G", "mmr").carries(1, 2), w("A", "m.r"), w("B", "mm"), w("D", "..m"),
			w("E", "r.m"),
		},
	},
	{
		Name: "group-chain", About: "a group after a group, on the same keys; the owner crashes",
		Init: "vv", Kills: 1, Crash: 1, Lost: 1,
		Clients: cs{chain("G", 3, 0, 3).crashes(), one("D", 6, 1)},
		Txns: ts{
			w("G", "mm").carries(1, 2), w("A", "mm"), w("B", "m"),
			w("H", "mm").carries(4, 5).cached("xx"), w("K", ".m"), w("L", "mr"), w("D", ".m"),
		},
	},
	{
		Name: "group-skew", About: "two groups, each of which reads what the other writes",
		Init: "vvv", Kills: 2,
		Clients: cs{one("G", 0, 2), one("H", 3, 2)},
		Txns: ts{
			w("G", "mr.").carries(1, 2), w("A", "m"), w("B", "mr"),
			w("H", "rm.").carries(4, 5), w("K", "rm"), w("L", ".m"),
		},
	},
}
