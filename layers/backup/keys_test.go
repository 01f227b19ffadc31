package backup_test

import (
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/layers/backup"
)

func TestKeysOfOptions(t *testing.T) {
	one, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	two, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	file, empty := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(file, []byte("# mine\n"+one.String()+"\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	both := one.Recipient().String() + "," + two.Recipient().String()
	for _, x := range []struct {
		name, recipients, identities, err string
	}{
		{"nothing", "", "", ""},
		{"two recipients", both, "", ""},
		{"a file", "", file, ""},
		{"all", both, file, ""},
		{"no recipient", "nobody", "", "recipient: "},
		{"an identity is none", one.String(), "", "recipient: "},
		{"no file", both, filepath.Join(t.TempDir(), "none"), "identity: "},
		{"an empty file", both, empty, "identity " + empty},
	} {
		t.Run(x.name, func(t *testing.T) {
			var o backup.Options
			err := o.Keys(x.recipients, x.identities)
			if x.err != "" {
				require.ErrorContains(t, err, x.err)
				assert.NotContains(t, err.Error(), one.String(), "a secret")
				assert.Equal(t, backup.Options{}, o)
				return
			}
			require.NoError(t, err)
			assert.Len(t, o.Recipients, map[bool]int{true: 2}[x.recipients != ""])
			assert.Len(t, o.Identities, map[bool]int{true: 1}[x.identities != ""])
		})
	}
}
