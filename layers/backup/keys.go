package backup

import (
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
)

// Keys sets Recipients and Identities as command lines give them: recipients as text, such as
// age1..., with commas between several, and the name of a file with identities, as age-keygen
// writes it. What is empty changes nothing; so does a call that fails.
func (o *Options) Keys(recipients, identities string) error {
	to, from := o.Recipients, o.Identities
	if recipients != "" {
		lines := strings.NewReader(strings.ReplaceAll(recipients, ",", "\n"))
		var err error
		if to, err = age.ParseRecipients(lines); err != nil {
			return fmt.Errorf("recipient: %w", err)
		}
	}
	if identities != "" {
		file, err := os.Open(identities)
		if err != nil {
			return fmt.Errorf("identity: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		if from, err = age.ParseIdentities(file); err != nil {
			return fmt.Errorf("identity %s: %w", identities, err)
		}
	}
	o.Recipients, o.Identities = to, from
	return nil
}
