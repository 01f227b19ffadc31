package keytext

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON encodes a value as JSON, on one line, in which nothing is left that a terminal would act on.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text, out := bytes.TrimRight(buf.Bytes(), "\n"), []byte(nil)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if acts(r) { // within a string: elsewhere there is ASCII alone
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out, nil
}

// Fields makes of a struct what JSON has of it: its fields by their names in lower case, with
// underscores, but for those that are empty texts, lists or pointers, or zero times. Bytes are a
// string if they are text, else in base64 with _base64 behind the name; several of them are a path.
func Fields(v any) map[string]any {
	out, s := map[string]any{}, reflect.ValueOf(v)
	for i := range s.NumField() {
		name := snake(s.Type().Field(i).Name)
		switch x := s.Field(i).Interface().(type) {
		case []byte:
			if utf8.Valid(x) && len(x) > 0 {
				out[name] = string(x)
			} else if len(x) > 0 {
				out[name+"_base64"] = x
			}
		case [][]byte:
			out[name] = ShowPath(x)
		default:
			if value := field(s.Field(i)); value != nil {
				out[name] = value
			}
		}
	}
	return out
}

// field is what JSON has of one field; nil is nothing.
func field(v reflect.Value) any {
	_, text := v.Interface().(encoding.TextMarshaler)
	switch k := v.Kind(); {
	case text || k == reflect.String:
		if v.IsZero() {
			return nil
		}
	case k == reflect.Struct:
		return Fields(v.Interface())
	case k == reflect.Pointer && !v.IsNil():
		return field(v.Elem())
	case k == reflect.Slice && v.Len() > 0:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = field(v.Index(i))
		}
		return list
	case k == reflect.Pointer, k == reflect.Slice:
		return nil
	}
	return v.Interface()
}

// snake turns ObjectVersion into object_version.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
