package workload

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/examples/patterns"
	"github.com/strictkv/strictkv/internal/sim/baton"
)

var cities = []string{"x", "y"}

func (x *session) users() patterns.Users {
	return patterns.Users{
		ByName: x.named("users"), ByMail: x.named("mails"), ByCity: x.named("cities"),
	}
}

// unique gives users mail addresses that others may have, and looks at all of them.
func (x *session) unique(r *baton.Source) {
	u := patterns.User{
		Name: x.some(r, 1)[0], Mail: x.some(r, 1)[0] + "@", City: cities[r.Below(len(cities))],
	}
	switch r.Below(6) {
	case 0:
		_ = x.call(r, "remove", func(ctx context.Context) error {
			return x.db.Tx(ctx, func(tx *strictkv.Tx) error { return x.users().Remove(tx, u.Name) })
		})
	case 1, 2:
		x.lookAtUsers(r)
	default:
		_ = x.call(r, "put", func(ctx context.Context) error {
			return x.db.Tx(ctx, func(tx *strictkv.Tx) error { return x.users().Put(tx, u) })
		})
	}
}

// owned are the users, and the entries of their indexes: each is a name, and what it has.
type owned struct {
	users         []patterns.User
	mails, cities [][2]string
}

// lookAtUsers checks that each address has one owner, and that the indexes have what the users
// have.
func (x *session) lookAtUsers(r *baton.Source) {
	var o owned
	err := x.call(r, "users", func(ctx context.Context) (err error) {
		o, err = strictkv.DoView(ctx, x.db, x.owned)
		return err
	})
	if err != nil {
		return
	}
	fits := len(o.mails) == len(o.users) && len(o.cities) == len(o.users)
	for _, u := range o.users {
		fits = fits && slices.Contains(o.mails, [2]string{u.Name, u.Mail}) &&
			slices.Contains(o.cities, [2]string{u.Name, u.City})
	}
	if !fits {
		x.l.Fail("users %v, addresses %v, cities %v", o.users, o.mails, o.cities)
	}
}

func (x *session) judgeUsers() { x.lookAtUsers(nil) }

// owned reads all there is.
func (x *session) owned(tx *strictkv.Tx) (o owned, err error) {
	for i, err := range tx.Scan(x.users().ByName, strictkv.Range{}) {
		var u patterns.User
		if err == nil {
			err = json.Unmarshal(i.Value, &u)
		}
		if err != nil {
			return o, err
		}
		o.users = append(o.users, u)
	}
	for i, err := range tx.Scan(x.users().ByMail, strictkv.Range{}) {
		if err != nil {
			return o, err
		}
		o.mails = append(o.mails, [2]string{string(i.Value), string(i.Key)})
	}
	for _, city := range cities {
		names, err := x.users().In(tx, city)
		if err != nil {
			return o, err
		}
		for _, name := range names {
			o.cities = append(o.cities, [2]string{name, city})
		}
	}
	return o, nil
}
