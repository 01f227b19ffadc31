package dump

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/backend/memory"
	"github.com/strictkv/strictkv/internal/keytext"
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
			require.Positive(t, row.line)
			row.line = 0
			got = append(got, row)
		}
		assert.Equal(t, given, got, format)
	}
}

func TestMalformed(t *testing.T) {
	for file, want := range map[string]string{
		`{"key":"a"}`:                             "line 1: malformed: want one of value",
		`{"key":"a","key_base64":"","value":""}`:  "line 1: malformed: want one of key",
		`{"value":"a"}`:                           "line 1: malformed: want one of key",
		"{\"key\":\"a\",\"value\":\"\"}\n{":       "line 2: malformed",
		`{"key":"a","value":"","colour":1}`:       `line 1: malformed: json: unknown field "colour"`,
		`{"key":"a","value_base64":"*"}`:          "line 1: malformed",
		`{"key":"a","value":"","expires":"soon"}`: "line 1: malformed",
		`[]`:                                 "line 1: malformed: array: want an object",
		`{"key":"a","value":1}`:              "line 1: malformed: value: number: want text",
		`{"key":"a","value":""}}`:            "line 1: malformed: more stands behind",
		"{\"key\":\"a\xff\",\"value\":\"\"}": "line 1: malformed: it is no UTF-8",
		`{"key":"\ud800","value":""}`:        `line 1: malformed: \ud800 is half`,
		`{"key":"\\\uDFFFa","value":""}`:     `line 1: malformed: \uDFFF is half`,
		"\n\n{}":                             "line 3: malformed",
	} {
		broken(t, file, JSON, want)
	}
	for file, want := range map[string]string{
		"id\n1\n":                       `line 1: malformed: column "id"`,
		"key,value\n,a\n":               "line 2: malformed: want one of key",
		"key,value\na,b,c\n":            "line 2: malformed",
		"key,expires\na,b\n":            "line 2: malformed: column expires",
		"key,value\na,b\n\"c,\n":        "line 3: malformed",
		"key_base64,value\n*,b\n":       "line 2: malformed: column key_base64",
		"key,value,key\na,b,c\n":        `line 1: malformed: column "key" comes twice`,
		"key,value\n\n\na,\"b\nc\"\n,b": "line 6: malformed: want one of key",
		"key,key_base64\nYQ==,YQ==":     "line 2: malformed: want one of key",
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

// TestWellFormed: characters that look like what is refused are none.
func TestWellFormed(t *testing.T) {
	file := "\ufeff{\"key\":\"\ufffd\",\"value\":\"\\\\ud800\"}\r\n \n" +
		`{"key":"\ufffd\ud83d\uDE00","value":"\\\\"}`
	var got []Row
	for row, err := range read(strings.NewReader(file), JSON) {
		require.NoError(t, err)
		got = append(got, row)
	}
	assert.Equal(t, []Row{
		{Key: []byte("\ufffd"), Value: []byte(`\ud800`), line: 1},
		{Key: []byte("\ufffd😀"), Value: []byte(`\\`), line: 3},
	}, got)
}

// TestFailures: of each key that can't be loaded it is told where it belongs, up to a number; the
// others are loaded, whether they expire or not.
func TestFailures(t *testing.T) {
	db := open(t)
	file := `{"collection":"a","key":"","value":"","expires":"2200-01-01T00:00:00Z"}
{"collection":"a","key":"k","value":"1","expires":"2200-01-01T00:00:00Z"}
` + strings.Repeat(`{"collection":"b","key":"","value":""}
{"collection":"c","key":"","value":""}
`, failuresMax) + `{"collection":"d//","key":"k","value":"2"}`
	r, err := Load(t.Context(), db, nil, strings.NewReader(file), Options{Format: JSON})
	require.ErrorIs(t, err, ErrMalformed)
	require.NotErrorIs(t, err, keytext.ErrSyntax, "the call is right")
	require.ErrorContains(t, err, "line 203: ")
	assert.Equal(t, int64(1), r.Inserted)
	assert.Equal(t, int64(2*failuresMax+1), r.Failed)
	assert.Len(t, r.Failures, failuresMax)
	assert.Equal(t, "a", r.Failures[0].Collection)
	assert.Equal(t, "c", r.Failures[2].Collection)
}

// TestCutOff: an input that breaks off is not taken for one that is malformed.
func TestCutOff(t *testing.T) {
	for file, format := range map[string]string{`{"key":"a`: JSON, "key,value\na,\"": CSV} {
		lost := errors.New("lost")
		var last error
		r := io.MultiReader(strings.NewReader(file), iotest.ErrReader(lost))
		for _, err := range read(r, format) {
			last = err
		}
		require.ErrorIs(t, last, lost, format)
		assert.NotErrorIs(t, last, ErrMalformed, format)
	}
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
