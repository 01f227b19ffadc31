package dump

import (
	"encoding/base64"
	"encoding/csv"
	"time"

	"github.com/strictkv/strictkv/internal/keytext"
)

// columns are those of CSV. Files that others make may lack some.
var columns = []string{"collection", "key", "key_base64", "value", "value_base64", "expires"}

type csvWriter struct {
	w     *csv.Writer
	begun bool
}

func (c *csvWriter) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	return c.w.Write(columns)
}

func (c *csvWriter) Write(r Row) error {
	if err := c.begin(); err != nil {
		return err
	}
	expires := ""
	if !r.Expires.IsZero() {
		expires = r.Expires.Format(time.RFC3339Nano)
	}
	record := []string{r.Collection, "", "", "", "", expires}
	for i, b := range [][]byte{r.Key, r.Value} {
		if s, other := text(b, stays); s != nil {
			record[1+2*i] = *s
		} else {
			record[2+2*i] = base64.StdEncoding.EncodeToString(other)
		}
	}
	return c.w.Write(record)
}

// stays reports whether bytes are in CSV as they are: not what a terminal would act on, which has
// no escapes there, carriage returns among it.
func stays(b []byte) bool { return keytext.Safe(string(b)) == string(b) }

func (c *csvWriter) Close() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}
