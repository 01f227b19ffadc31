package model

// scanning are configurations of transactions that scan, and validate by listing again.
var scanning = []config{
	{
		Name: "scan-phantom", About: "two who insert what the other has found absent in a scan",
		Init: "--", Kills: 1, Crash: 1,
		Clients: cs{one("V", 0, 2).crashes(), one("W", 1, 2)},
		Txns:    ts{w("V", "ir").scans("xx"), w("W", "ri").scans("xx")},
	},
	{
		Name: "scan-insert", About: "a scan and a write; a commit of two keys in its range",
		Init: "v--", Kills: 1,
		Clients: cs{one("V", 0, 2), one("P", 1, 1), one("D", 2, 1)},
		Txns:    ts{w("V", "rrw").scans("xx"), w("P", "mi"), w("D", "w")},
	},
	{
		Name: "scan-delete", About: "a scan and a write; keys in its range deleted and inserted",
		Init: "vt-", Kills: 1,
		Clients: cs{one("V", 0, 2), one("X", 1, 1), one("J", 2, 1)},
		Txns:    ts{w("V", "rrw").scans("xx"), w("X", "di"), w("J", ".d")},
	},
	{
		Name: "scan-read", About: "scans alone, one beside a single key, and a parallel commit",
		Init: "v-v", Kills: 1, Crash: 1,
		Clients: cs{one("P", 0, 1).crashes(), one("R", 1, 0), one("S", 2, 0)},
		Txns:    ts{w("P", "miw"), ro("R", "rr").scans("xx"), ro("S", "rrr").scans("xx")},
	},
	{
		Name: "scan-sweep", About: "a tombstone in the range is swept, and its key inserted again",
		Init: "t-", Kills: 1,
		Clients: cs{one("V", 0, 2), one("S", 1, 0), one("J", 2, 1)},
		Txns:    ts{w("V", "rw").scans("x"), sweep("S", "x"), w("J", "iw")},
	},
	{
		Name: "scan-gone", About: "a key in the range is deleted, and its tombstone swept",
		Init: "vv", Kills: 1,
		Clients: cs{one("V", 0, 2), one("S", 1, 0), chain("X", 2, 2, 3)},
		Txns:    ts{w("V", "rw").scans("x"), sweep("S", "x"), w("X1", "d"), w("X2", ".w")},
	},
}
