package cell

import (
	"errors"
	"fmt"
)

// check tells what rule of the model the cell breaks. It is asserted before a cell
// is written and after it was read.
func (c *Cell) check() error {
	switch {
	case c.Value.Kind != Absent && c.Writer.IsZero():
		return errors.New("a value without a writer")
	case len(c.Recent) > RecentMax:
		return fmt.Errorf("%d recent attempts", len(c.Recent))
	case len(c.Marks) > MarksMax:
		return fmt.Errorf("%d marks", len(c.Marks))
	case c.Condemned && (c.Shape() != ShapeCondemned || len(c.Marks) > 0):
		return errors.New("condemned, but not a tombstone without intent and marks")
	}
	for i := range c.Recent {
		if c.Recent[i].IsZero() {
			return errors.New("a recent attempt without an id")
		}
	}
	if err := c.Value.check(); err != nil {
		return err
	}
	if c.Intent != nil {
		if err := c.Intent.check(); err != nil {
			return fmt.Errorf("intent: %w", err)
		}
	}
	for i := range c.Marks {
		if err := c.Marks[i].check(); err != nil {
			return fmt.Errorf("mark: %w", err)
		}
	}
	return nil
}

func (v *Value) check() error {
	switch {
	case v.Kind > External:
		return fmt.Errorf("a value of kind %d", v.Kind)
	case v.Kind == External && v.Ref == "":
		return errors.New("an external value without a reference")
	case v.Expires < 0 || v.Expires != 0 && v.Kind == Absent:
		return fmt.Errorf("a value of kind %d that expires at %d", v.Kind, v.Expires)
	}
	return nil
}

func (in *Intent) check() error {
	switch {
	case in.Tx.IsZero():
		return errors.New("no attempt")
	case in.Mode != Staged && in.Mode != Pending:
		return fmt.Errorf("mode %d", in.Mode)
	case in.Action < Put || in.Action > Lock:
		return fmt.Errorf("action %d", in.Action)
	case in.Action == Put && in.Value.Kind == Absent:
		return errors.New("put without a value")
	case in.Action != Put && in.Value.Kind != Absent:
		return fmt.Errorf("action %d with a value", in.Action)
	}
	if err := in.Value.check(); err != nil {
		return err
	}
	return in.Members.check()
}

func (m *Mark) check() error {
	if m.Tx.IsZero() {
		return errors.New("no attempt")
	}
	return m.Members.check()
}

func (m *Members) check() error {
	if len(m.List) == 0 || len(m.List) > MembersMax {
		return fmt.Errorf("%d members", len(m.List))
	}
	primary := m.List[0].Name
	for i := range m.List {
		switch name := m.List[i].Name; {
		case name == "":
			return errors.New("a member without a name")
		case i > 0 && name == primary, i > 1 && name <= m.List[i-1].Name:
			return fmt.Errorf("member %q out of order", name)
		}
	}
	return nil
}
