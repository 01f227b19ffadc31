package dump

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
)

// TestRoundTrip: any bytes come back from either format.
func TestRoundTrip(t *testing.T) {
	pieces := []string{"", "a", ",", `"`, "\n", "\r\n", "\r", "\x00", "\xff", "\u202e", "#", "\ufeff"}
	random := rand.New(rand.NewPCG(1, 2))
	some := func(min int) []byte {
		b := []byte(strings.Repeat("k", min))
		for range random.IntN(4) {
			b = append(b, pieces[random.IntN(len(pieces))]...)
		}
		return b
	}
	var given []Row
	for i := range 2000 {
		row := Row{Key: some(1), Value: some(0)}
		if i%3 == 0 {
			row.Collection = `a/"b"`
		}
		if i%5 == 0 {
			row.Expires = time.Unix(int64(i), int64(i)).UTC()
		}
		given = append(given, row)
	}
	for _, format := range []string{JSON, CSV} {
		var file bytes.Buffer
		w, err := newWriter(&file, format)
		require.NoError(t, err)
		for _, row := range given {
			require.NoError(t, w.Write(row))
		}
		require.NoError(t, w.Close())
		assert.NotContains(t, file.String(), "\u202e", "a terminal would act on it")
		var got []Row
		for row, err := range read(&file, format) {
			require.NoError(t, err)
			got = append(got, row)
		}
		assert.Equal(t, given, got, format)
	}
}

func TestMalformed(t *testing.T) {
	for file, want := range map[string]string{
		`{"key":"a"}`:                             "row 1: malformed: want one of value",
		`{"key":"a","key_base64":"","value":""}`:  "row 1: malformed: want one of key",
		`{"value":"a"}`:                           "row 1: malformed: want one of key",
		"{\"key\":\"a\",\"value\":\"\"}\n{":       "row 2: malformed",
		`{"key":"a","value":"","colour":1}`:       `row 1: malformed: json: unknown field "colour"`,
		`{"key":"a","value_base64":"*"}`:          "row 1: malformed",
		`{"key":"a","value":"","expires":"soon"}`: "row 1: malformed",
		`[]`: "row 1: malformed",
	} {
		broken(t, file, JSON, want)
	}
	for file, want := range map[string]string{
		"id\n1\n":                   `row 1: malformed: column "id"`,
		"key,value\n,a\n":           "row 1: malformed: want one of key",
		"key,value\na,b,c\n":        "row 1: malformed",
		"key,expires\na,b\n":        "row 1: malformed: column expires",
		"key,value\na,b\n\"c,\n":    "row 2: malformed",
		"key_base64,value\n*,b\n":   "row 1: malformed: column key_base64",
		"key,key_base64\nYQ==,YQ==": "row 1: malformed: want one of key",
	} {
		broken(t, file, CSV, want)
	}
}

// broken reads a file that ends with an error.
func broken(t *testing.T, file, format, want string) {
	var last error
	for _, err := range read(strings.NewReader(file), format) {
		last = err
	}
	require.ErrorIs(t, last, ErrMalformed, file)
	assert.ErrorContains(t, last, want, file)
}

// TestCollections: what a database has is in another one after a dump and a load.
func TestCollections(t *testing.T) {
	for _, format := range []string{JSON, CSV} {
		var file bytes.Buffer
		one, two := open(t), open(t)
		later := time.Now().Add(time.Hour)
		for _, path := range [][][]byte{
			{[]byte("a")}, {[]byte("a"), []byte("b/c")}, {[]byte("\x00")},
		} {
			c := Below(one, path)
			require.NoError(t, c.Write(t.Context(), []byte("k"), []byte("v")))
			require.NoError(t, c.Write(t.Context(), []byte("late"), []byte{0xff},
				strictkv.ExpireAt(later)))
		}
		require.NoError(t, Database(t.Context(), &file, one, Options{Format: format}))
		text := file.String()
		r, err := Load(t.Context(), two, nil, &file, Options{Format: format})
		require.NoError(t, err)
		assert.Equal(t, Report{Inserted: 6, Bytes: 21}, r)
		var again bytes.Buffer
		require.NoError(t, Database(t.Context(), &again, two, Options{Format: CSV}))
		require.NoError(t, Database(t.Context(), &file, one, Options{Format: CSV}))
		assert.Equal(t, file.String(), again.String())
		r, err = Load(t.Context(), two, nil, strings.NewReader(text), Options{Format: format})
		require.NoError(t, err)
		assert.Equal(t, Report{Present: 6, Bytes: 21}, r)
	}
}

func open(t *testing.T) *strictkv.DB {
	db, err := strictkv.Open(t.Context(), "db", memory.New())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(t.Context())) })
	return db
}
