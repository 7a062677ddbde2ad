package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

var errShortRow = errors.New("row ends early")

// encodeRows packs rows column by column in struct order: a null flag for
// nullable columns, varints for integers, length and bytes for text.
func encodeRows[T any](t *Table[T], rows []T) []byte {
	out := binary.AppendUvarint(nil, uint64(len(rows)))
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for _, c := range t.Columns {
			out = appendValue(out, row.Field(c.field))
		}
	}
	return out
}

func appendValue(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(out, 0)
		}
		return appendValue(append(out, 1), v.Elem())
	case reflect.Int64:
		return binary.AppendVarint(out, v.Int())
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(out, math.Float64bits(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			return append(out, 1)
		}
		return append(out, 0)
	case reflect.String:
		out = binary.AppendUvarint(out, uint64(v.Len()))
		return append(out, v.String()...)
	default: // []byte, the only other storable type; nil is kept apart from empty
		if v.IsNil() {
			return append(out, 0)
		}
		out = binary.AppendUvarint(append(out, 1), uint64(v.Len()))
		return append(out, v.Bytes()...)
	}
}

// decodeRows is the inverse of encodeRows. The checksum of the frame has been
// verified before, so an error here means another schema wrote it.
func decodeRows[T any](t *Table[T], data []byte) ([]T, error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)) {
		return nil, errShortRow
	}
	data = data[used:]
	rows := make([]T, n)
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for _, c := range t.Columns {
			rest, err := readValue(data, row.Field(c.field))
			if err != nil {
				return nil, fmt.Errorf("%s row %d column %s: %w", t.Name, i, c.Name, err)
			}
			data = rest
		}
	}
	if len(data) > 0 {
		return nil, fmt.Errorf("%s: %d bytes after the last row", t.Name, len(data))
	}
	return rows, nil
}

func readValue(data []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Bool:
		if len(data) == 0 {
			return nil, errShortRow
		}
		flag, rest := data[0] == 1, data[1:]
		return readFlagged(rest, v, flag)
	case reflect.Int64:
		n, used := binary.Varint(data)
		if used <= 0 {
			return nil, errShortRow
		}
		v.SetInt(n)
		return data[used:], nil
	case reflect.Float64:
		if len(data) < 8 {
			return nil, errShortRow
		}
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(data)))
		return data[8:], nil
	default: // string
		text, rest, err := readBytes(data)
		v.SetString(string(text))
		return rest, err
	}
}

func readFlagged(data []byte, v reflect.Value, flag bool) ([]byte, error) {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(flag)
		return data, nil
	case !flag:
		return data, nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return readValue(data, v.Elem())
	default: // []byte
		b, rest, err := readBytes(data)
		v.SetBytes(append([]byte{}, b...))
		return rest, err
	}
}

func readBytes(data []byte) (value, rest []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, errShortRow
	}
	data = data[used:]
	return data[:n], data[n:], nil
}
