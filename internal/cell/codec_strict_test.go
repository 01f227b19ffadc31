package cell_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/cell"
)

// Pieces of stored cells.
var (
	id1  = string([]byte{0: 1, 15: 1})
	id2  = string([]byte{0: 2, 15: 2})
	zero = strings.Repeat("\x00", 16)
	// list has the members "=a" at "v" and "=b" at none.
	list     = field(5, "\x02\x02=a\x01v\x02=b\x00")
	value    = field(1, "x") + field(3, id1)
	external = field(2, "\x05sumsref")
	lock     = attempt(1, 3)
	aMark    = field(3, id2) + list
	marks8   = strings.Repeat(field(6, aMark), 8)
	huge     = "\x05" + strings.Repeat("\xff", 9) + "\x01\x00"
)

func terms(mode, action byte) string { return field(4, zero+string([]byte{mode, action})) }

// attempt is an intent but for its value.
func attempt(mode, action byte) string { return field(3, id2) + terms(mode, action) + list }

const (
	asValue     = int(cell.ShapeValue)
	asTombstone = int(cell.ShapeTombstone)
	asIntent    = int(cell.ShapeLook)

	soon = "\x01\x00\x00\x00\x00\x00\x00\x00"
)

func TestWellFormedPieces(t *testing.T) {
	for fields, shape := range map[string]int{
		"": asTombstone, value: asValue, value + field(5, lock): asIntent,
		marks8: asTombstone, external + field(3, id1): asValue,
		field(5, field(1, "")+field(3, id2)+terms(2, 1)+list+field(6, "")): asIntent,
		field(3, id1) + field(7, ""):                                       asTombstone,
		value + field(8, soon):                                             asIntent,
		field(5, field(1, "")+attempt(1, 1)+field(8, soon)):                asIntent,
		value + field(4, strings.Repeat(id1, 8)):                           asValue,
	} {
		_, err := cell.Decode(seal([]byte(fields), shape))
		require.NoError(t, err, "%q", fields)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for name, x := range map[string]struct {
		fields string
		shape  int
	}{
		"tombstone of a value's size":    {"", asValue},
		"value of a tombstone's size":    {value, asTombstone},
		"intent of a value's size":       {value + field(5, lock), asValue},
		"size of no shape":               {value, 3},
		"too much padding":               {value + "\x00\x00\x00\x00", asValue},
		"padding not zero":               {value + strings.Repeat("\x00", 1) + "\x01", asValue},
		"value without a writer":         {field(1, "x"), asValue},
		"writer of zeros":                {field(1, "x") + field(3, zero), asValue},
		"tombstone's writer of zeros":    {field(3, zero), asTombstone},
		"short writer":                   {field(1, "x") + field(3, id1[1:]), asValue},
		"two values":                     {field(1, "x") + external + field(3, id1), asValue},
		"value twice":                    {field(1, "x") + value, asValue},
		"fields out of order":            {field(3, id1) + field(1, "x"), asValue},
		"external without a reference":   {field(2, "\x05sums") + field(3, id1), asValue},
		"external without a sum":         {field(2, "\x05sum") + field(3, id1), asValue},
		"external of a long-winded size": {field(2, "\x85\x00sumsref") + field(3, id1), asValue},
		"no recent":                      {value + field(4, ""), asValue},
		"part of a recent":               {value + field(4, id1+"x"), asValue},
		"nine recent":                    {value + field(4, strings.Repeat(id1, 9)), asValue},
		"recent of zeros":                {value + field(4, zero), asValue},
		"field too long":                 {"\x01\x7f", asValue},
		"field without a length":         {"\x01", asValue},
		"field with a huge length":       {huge, asValue},
		"long-winded length":             {"\x01\x81\x00x" + field(3, id1), asValue},
		"empty intent":                   {field(5, ""), asIntent},
		"intent without an attempt":      {field(5, terms(1, 3)+list), asIntent},
		"intent without terms":           {field(5, field(3, id2)+list), asIntent},
		"intent with short terms":        {field(5, field(3, id2)+field(4, zero)+list), asIntent},
		"intent without members":         {field(5, field(3, id2)+terms(1, 3)), asIntent},
		"intent of mode 0":               {field(5, attempt(0, 3)), asIntent},
		"intent of mode 3":               {field(5, attempt(3, 3)), asIntent},
		"intent of action 0":             {field(5, attempt(1, 0)), asIntent},
		"intent of action 4":             {field(5, attempt(1, 4)), asIntent},
		"put without a value":            {field(5, attempt(1, 1)), asIntent},
		"delete with a value":            {field(5, field(1, "x")+attempt(1, 2)), asIntent},
		"lock with a value":              {field(5, field(1, "x")+lock), asIntent},
		"put of an external without ref": {field(5, field(2, "\x05sums")+attempt(1, 1)), asIntent},
		"padding in an intent":           {field(5, lock+"\x00"), asIntent},
		"field out of order in intent":   {field(5, lock+terms(1, 3)), asIntent},
		"two intents":                    {field(5, lock) + field(5, lock), asIntent},
		"a long flag with content":       {field(5, lock+field(6, "x")), asIntent},
		"two long flags":                 {field(5, lock+field(6, "")+field(6, "")), asIntent},
		"nine marks":                     {marks8 + field(6, aMark), asTombstone},
		"empty mark":                     {field(6, ""), asTombstone},
		"mark without an attempt":        {field(6, list), asTombstone},
		"mark without members":           {field(6, field(3, id2)), asTombstone},
		"padding in a mark":              {field(6, aMark+"\x00"), asTombstone},
		"condemned with content":         {field(7, "x"), asTombstone},
		"condemned twice":                {field(7, "") + field(7, ""), asTombstone},
		"condemned value":                {value + field(7, ""), asValue},
		"condemned with an intent":       {field(5, lock) + field(7, ""), asIntent},
		"condemned with a mark":          {field(6, aMark) + field(7, ""), asTombstone},
	} {
		refuses(t, name, x.fields, x.shape)
	}
}

func refuses(t *testing.T, name, fields string, shape int) {
	t.Helper()
	_, err := cell.Decode(seal([]byte(fields), shape))
	require.Error(t, err, name)
	require.NotErrorIs(t, err, cell.ErrFormat, name)
}

func TestNonsenseThatExpiresIsRefused(t *testing.T) {
	put := field(1, "") + attempt(1, 1)
	for name, x := range map[string]struct {
		fields string
		shape  int
	}{
		"expiry of a value's size":       {value + field(8, soon), asValue},
		"expiry without a value":         {field(3, id1) + field(8, soon), asTombstone},
		"expiry of 7 bytes":              {value + field(8, soon[1:]), asIntent},
		"expiry in 1970":                 {value + field(8, soon[1:]+"\x00"), asIntent},
		"expiry before 1970":             {value + field(8, soon[1:]+"\xff"), asIntent},
		"expiry twice":                   {value + field(8, soon) + field(8, soon), asIntent},
		"expiry of a delete":             {field(5, attempt(1, 2)+field(8, soon)), asIntent},
		"expiry of a lock":               {field(5, lock+field(8, soon)), asIntent},
		"expiry of 9 bytes in an intent": {field(5, put+field(8, soon+"x")), asIntent},
	} {
		refuses(t, name, x.fields, x.shape)
	}
}

func TestMalformedMembersAreRefused(t *testing.T) {
	many := strings.Repeat("\x02=a\x00", cell.MembersMax+1)
	for name, members := range map[string]string{
		"none":                "",
		"count of 0":          "\x00",
		"less than counted":   "\x02\x02=a\x00",
		"more than counted":   "\x01\x02=a\x00\x02=b\x00",
		"over the limit":      "\xe9\x07" + many,
		"huge count":          "\xff\xff\xff\xff\xff\xff\xff\x7f" + many,
		"long-winded count":   "\x81\x00\x02=a\x00",
		"without a name":      "\x01\x00\x00",
		"name too long":       "\x01\x05=a\x00",
		"version missing":     "\x01\x02=a",
		"version too long":    "\x01\x02=a\x05v",
		"primary twice":       "\x02\x02=a\x00\x02=a\x00",
		"primary again later": "\x03\x02=c\x00\x02=b\x00\x02=c\x00",
		"others out of order": "\x03\x02=a\x00\x02=c\x00\x02=b\x00",
		"other member twice":  "\x03\x02=a\x00\x02=b\x00\x02=b\x00",
	} {
		_, err := cell.Decode(seal([]byte(field(6, field(3, id2)+field(5, members))), asTombstone))
		require.Error(t, err, name)
		require.NotErrorIs(t, err, cell.ErrFormat, name)
	}
	primaryLast := "\x03\x02=c\x00\x02=a\x00\x02=b\x00"
	_, err := cell.Decode(seal([]byte(field(6, field(3, id2)+field(5, primaryLast))), asTombstone))
	require.NoError(t, err, "the primary need not have the smallest name")
}

func TestUnknownFields(t *testing.T) {
	plain, err := cell.Decode(seal([]byte(value+field(5, lock)+field(6, aMark)), asIntent))
	require.NoError(t, err)
	_, err = cell.Decode(seal([]byte(value+field(6, aMark+field(8, soon))), asValue))
	require.ErrorIs(t, err, cell.ErrFormat, "a mark does not expire")
	for _, tag := range []byte{9, 127, 128, 255} {
		extra := field(tag, "extra")
		for where, fields := range map[string]string{
			"cell":   value + field(5, lock) + field(6, aMark) + extra,
			"intent": value + field(5, lock+extra) + field(6, aMark),
			"mark":   value + field(5, lock) + field(6, aMark+extra),
		} {
			c, err := cell.Decode(seal([]byte(fields), asIntent))
			if tag < 128 {
				require.ErrorIs(t, err, cell.ErrFormat, "tag %d in the %s is critical", tag, where)
				assert.Contains(t, err.Error(), "newer version")
				continue
			}
			require.NoError(t, err, "tag %d in the %s may be ignored", tag, where)
			assert.Equal(t, plain, c, "tag %d in the %s", tag, where)
		}
	}
	twice := value + field(200, "a") + field(200, "b")
	_, err = cell.Decode(seal([]byte(twice), asValue))
	require.NoError(t, err, "an unknown field may come several times")
	_, err = cell.Decode(seal([]byte(value+field(201, "a")+field(200, "b")), asValue))
	require.Error(t, err, "but not out of order")
}

func TestOtherFormatVersions(t *testing.T) {
	data := cell.Encode(valued(), nonce)
	data[4] = 3 // with a checksum that this version need not understand
	_, err := cell.Decode(data)
	require.ErrorIs(t, err, cell.ErrFormat)
	assert.Contains(t, err.Error(), "found 3, supported are up to 2")
}

// A condemned tombstone is of version 2, all else of version 1.
func TestVersionGoesWithTheContent(t *testing.T) {
	for c, version := range map[*cell.Cell]byte{
		valued():                         2,
		{Writer: id(1)}:                  2,
		{Writer: id(1), Condemned: true}: 1,
	} {
		data := cell.Encode(c, nonce)
		data[4] = version
		_, err := cell.Decode(resum(data))
		require.Error(t, err)
		require.NotErrorIs(t, err, cell.ErrFormat)
	}
}

func TestForeignObjects(t *testing.T) {
	for _, data := range []string{
		"", "S", "SKVC", "SKVM\x01" + zero, "{\"json\": \"of some other program\"}",
	} {
		_, err := cell.Decode([]byte(data))
		require.Error(t, err, "%q", data)
		require.NotErrorIs(t, err, cell.ErrFormat, "%q", data)
	}
}

func TestEncodeRefusesWhatCannotBeRead(t *testing.T) {
	for name, c := range map[string]*cell.Cell{
		"value without a writer":    {Value: inline("x")},
		"value of no kind":          {Value: cell.Value{Kind: 9}, Writer: id(1)},
		"external without ref":      {Value: cell.Value{Kind: cell.External}, Writer: id(1)},
		"nine recent":               {Recent: ids(1, 2, 3, 4, 5, 6, 7, 8, 9)},
		"recent of zeros":           {Recent: ids(0)},
		"nine marks":                {Marks: marks(1, 2, 3, 4, 5, 6, 7, 8, 9)},
		"mark without members":      {Marks: []cell.Mark{{Tx: id(1)}}},
		"mark without an attempt":   {Marks: marks(0)},
		"intent without an attempt": {Intent: intent(0, cell.Staged, cell.Lock)},
		"condemned value":           {Value: inline("x"), Writer: id(1), Condemned: true},
	} {
		assert.Panics(t, func() { cell.Encode(c, nonce) }, name)
	}
}
