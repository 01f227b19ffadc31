package patterns

import (
	"encoding/json"
	"errors"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/tuple"
)

// User is what the indexes are about.
type User struct{ Name, Mail, City string }

// Users are users by name, with two indexes: a unique one by mail address, and one by city.
type Users struct{ ByName, ByMail, ByCity *strictkv.Collection }

func cityKey(u User) ([]byte, error) { return tuple.Tuple{u.City, u.Name}.Pack() }

// Put adds a user, or replaces one of that name, together with the entries of both indexes. If
// another user has the mail address, it fails with strictkv.ErrExists, and so does the transaction,
// whatever is made of the error: else it would commit that the former entries are gone.
func (s Users) Put(tx *strictkv.Tx, u User) error {
	value, err := json.Marshal(u)
	if err != nil {
		return err
	}
	city, err := cityKey(u)
	if err != nil {
		return err
	}
	if err := s.Remove(tx, u.Name); err != nil {
		return err
	}
	err = tx.Insert(s.ByMail, []byte(u.Mail), []byte(u.Name)) // unique
	if err != nil {
		_ = tx.Abort() // it always returns an error; this one tells more
		return err
	}
	return errors.Join(
		tx.Write(s.ByCity, city, nil),
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
	city, err := cityKey(u)
	if err != nil {
		return err
	}
	return errors.Join(
		tx.Delete(s.ByMail, []byte(u.Mail)),
		tx.Delete(s.ByCity, city),
		tx.Delete(s.ByName, []byte(name)),
	)
}

// In yields the names of the users of a city.
func (s Users) In(tx *strictkv.Tx, city string) (names []string, err error) {
	r, err := tuple.Tuple{city}.Range()
	if err != nil {
		return nil, err
	}
	r.KeysOnly = true
	for entry, err := range tx.Scan(s.ByCity, r) {
		if err != nil {
			return nil, err
		}
		key, err := tuple.Unpack(entry.Key)
		if err != nil {
			return nil, err
		}
		names = append(names, key[1].(string))
	}
	return names, nil
}
