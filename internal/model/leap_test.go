package model

// leaping are configurations with the store's clock.
var leaping = []config{
	{
		Name:  "clock-insert",
		About: "two keys inserted by a client that stands still; killed and swept meanwhile",
		Init:  "--", Leaps: 2, Kills: 1,
		Clients: cs{one("I", 0, 2).freezes(), one("D", 1, 1), one("S", 2, 0)},
		Txns:    ts{w("I", "ii"), w("D", "m"), sweep("S", "xx")},
	},
	{
		Name:  "clock-lost",
		About: "the same, an answer lost: a member is sent again",
		Init:  "--", Leaps: 2, Kills: 1, Lost: 1,
		Clients: cs{one("I", 0, 2).freezes(), one("D", 1, 1), one("S", 2, 0)},
		Txns:    ts{w("I", "ii"), w("D", "m"), sweep("S", "xx")},
	},
	{
		Name:  "clock-direct",
		About: "one key inserted by a client that stands still, an answer lost; deleted and swept",
		Open:  true,
		Init:  "-", Leaps: 2, Lost: 1,
		Clients: cs{one("I", 0, 2).freezes(), one("X", 1, 1), one("S", 2, 0), one("R", 3, 0)},
		Txns:    ts{w("I", "i"), w("X", "d"), sweep("S", "x"), ro("R", "r")},
	},
	{
		Name:  "clock-lost-both",
		About: "two keys inserted by a client that stands still, an answer lost; deleted and swept",
		Open:  true,
		Init:  "--", Leaps: 2, Lost: 1,
		Clients: cs{one("I", 0, 2).freezes(), one("X", 1, 1).resolves(), one("S", 2, 0)},
		Txns:    ts{w("I", "ii"), w("X", "dd"), sweep("S", "xx")},
	},
	{
		Name:  "clock-val",
		About: "a validated commit of an absent primary by a client that stands still",
		Init:  "-v", Leaps: 2, Kills: 1, Lost: 1,
		Clients: cs{one("V", 0, 1).freezes(), one("S", 1, 0), one("X", 2, 1)},
		Txns:    ts{w("V", "wr"), sweep("S", "x"), w("X", "d")},
	},
	{
		Name:  "clock-val-two",
		About: "the same with two absent keys, one of them read by others",
		Init:  "--v", Leaps: 2, Kills: 1,
		Clients: cs{one("V", 0, 1).freezes(), one("S", 1, 0), one("X", 2, 1)},
		Txns:    ts{w("V", "wwr"), sweep("S", "xx"), w("X", ".m")},
	},
	{
		Name:  "clock-observer",
		About: "an observer of an insert stands still",
		Init:  "--", Leaps: 2, Kills: 1,
		Clients: cs{one("I", 0, 1), one("D", 1, 2).freezes(), one("S", 2, 0), one("X", 3, 1)},
		Txns:    ts{w("I", "ii"), w("D", "m"), sweep("S", "xx"), w("X", ".d")},
	},
	{
		Name:  "clock-belief",
		About: "an observer that has killed an insert waits long for locks elsewhere",
		Init:  "--v", Leaps: 1, Kills: 1, Crash: 1,
		Clients: cs{
			one("I", 0, 1).freezes(), one("D", 1, 1), one("L", 2, 1).crashes(), one("S", 3, 0),
		},
		Txns: ts{w("I", "ii"), w("D", "m.m"), w("L", "..m").lockFirst(), sweep("S", ".x")},
	},
}
