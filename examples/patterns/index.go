package patterns

import (
	"encoding/json"
	"errors"

	"github.com/strictkv/strictkv"
)

// User is what the indexes are about.
type User struct{ Name, Mail, City string }

// Users are users by name, with two indexes: a unique one by mail address, and one by city.
type Users struct{ ByName, ByMail, ByCity *strictkv.Collection }

func cityKey(u User) []byte { return []byte(u.City + "\x00" + u.Name) }

// Put adds a user, or replaces one of that name, together with the entries of both indexes. If
// another user has the mail address, it fails with strictkv.ErrExists, and so does the transaction,
// whatever is made of the error: else it would commit that the former entries are gone.
func (s Users) Put(tx *strictkv.Tx, u User) error {
	if err := s.Remove(tx, u.Name); err != nil {
		return err
	}
	value, err := json.Marshal(u)
	if err != nil {
		return err
	}
	err = tx.Insert(s.ByMail, []byte(u.Mail), []byte(u.Name)) // unique
	if err != nil {
		_ = tx.Abort() // it always returns an error; this one tells more
		return err
	}
	return errors.Join(
		tx.Write(s.ByCity, cityKey(u), nil),
		tx.Write(s.ByName, []byte(u.Name), value),
	)
}

// Remove removes a user, if there is one of that name, together with its index entries.
func (s Users) Remove(tx *strictkv.Tx, name string) error {
	value, err := tx.Read(s.ByName, []byte(name))
	if errors.Is(err, strictkv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var u User
	if err := json.Unmarshal(value, &u); err != nil {
		return err
	}
	return errors.Join(
		tx.Delete(s.ByMail, []byte(u.Mail)),
		tx.Delete(s.ByCity, cityKey(u)),
		tx.Delete(s.ByName, []byte(name)),
	)
}

// In yields the names of the users of a city.
func (s Users) In(tx *strictkv.Tx, city string) (names []string, err error) {
	prefix := strictkv.Prefix([]byte(city + "\x00"))
	prefix.KeysOnly = true
	for entry, err := range tx.Scan(s.ByCity, prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, string(entry.Key[len(city)+1:]))
	}
	return names, nil
}
