package recompute

import (
	"encoding/binary"
	"errors"
	"math"
)

// A Parquet file describes itself in Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
// This reader is our own because a library allocates what a count claims; here a
// list of n elements needs n bytes of input first, so memory follows the file's
// size and no count.

// tree is a Thrift struct: fields by id. A value is a bool, int8, int16, int32,
// int64, float64, []byte, []any or tree.
type tree map[int16]any

// maxNesting is deeper than any structure of Parquet's.
const maxNesting = 12

var errThrift = errors.New("the description cannot be decoded")

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// thriftReader decodes from data, which it never writes to.
type thriftReader struct {
	data []byte
	pos  int
}

// decodeThrift reads one struct from the start of data and returns how many
// bytes it took.
func decodeThrift(data []byte) (tree, int, error) {
	r := thriftReader{data: data}
	t, err := r.structure(0)
	return t, r.pos, err
}

func (r *thriftReader) structure(depth int) (tree, error) {
	if depth > maxNesting {
		return nil, errThrift
	}
	var out tree
	id := int16(0)
	for {
		head, err := r.byte()
		if err != nil {
			return nil, err
		}
		if head == 0 {
			return out, nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			long, err := r.zigzag()
			if err != nil {
				return nil, err
			}
			id = int16(long)
		}
		v, err := r.value(head&15, depth)
		if err != nil {
			return nil, err
		}
		if _, twice := out[id]; twice {
			return nil, errThrift
		}
		if out == nil {
			out = tree{}
		}
		out[id] = v
	}
}

func (r *thriftReader) value(kind byte, depth int) (any, error) {
	switch kind {
	case thriftTrue, thriftFalse:
		return kind == thriftTrue, nil
	case thriftByte:
		b, err := r.byte()
		return int8(b), err
	case thriftI16, thriftI32, thriftI64:
		v, err := r.zigzag()
		if err != nil {
			return nil, err
		}
		return narrow(kind, v)
	case thriftDouble:
		raw, err := r.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(raw)), nil
	case thriftBinary:
		n, err := r.varint()
		if err != nil {
			return nil, err
		}
		return r.take(n)
	case thriftList, thriftSet:
		return r.list(depth + 1)
	case thriftStruct:
		return r.structure(depth + 1)
	}
	return nil, errThrift // maps stand in nothing that Parquet describes
}

// narrow gives a whole number the type the file states, and refuses one that does
// not fit: two readers of one file must not come to differ.
func narrow(kind byte, v int64) (any, error) {
	switch {
	case kind == thriftI64:
		return v, nil
	case kind == thriftI32 && v == int64(int32(v)):
		return int32(v), nil
	case kind == thriftI16 && v == int64(int16(v)):
		return int16(v), nil
	}
	return nil, errThrift
}

func (r *thriftReader) list(depth int) ([]any, error) {
	head, err := r.byte()
	if err != nil || depth > maxNesting {
		return nil, errThrift
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = r.varint(); err != nil {
			return nil, err
		}
	}
	if n > uint64(len(r.data)-r.pos) { // every element takes a byte at least
		return nil, errThrift
	}
	out := make([]any, 0, n)
	for range n {
		kind := head & 15
		if kind == thriftTrue || kind == thriftFalse { // in a list a flag is a byte of its own
			if kind, err = r.byte(); err != nil || kind != thriftTrue && kind != thriftFalse {
				return nil, errThrift
			}
		}
		v, err := r.value(kind, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (r *thriftReader) byte() (byte, error) {
	if r.pos >= len(r.data) {
		return 0, errThrift
	}
	r.pos++
	return r.data[r.pos-1], nil
}

func (r *thriftReader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.data)-r.pos) {
		return nil, errThrift
	}
	r.pos += int(n)
	return r.data[r.pos-int(n) : r.pos], nil
}

func (r *thriftReader) varint() (uint64, error) {
	v, n := binary.Uvarint(r.data[r.pos:])
	if n <= 0 {
		return 0, errThrift
	}
	r.pos += n
	return v, nil
}

func (r *thriftReader) zigzag() (int64, error) {
	v, err := r.varint()
	return int64(v>>1) ^ -int64(v&1), err
}

// i64 returns a whole number of 64 bits; ok is false where there is none.
func (t tree) i64(id int16) (v int64, ok bool) { v, ok = t[id].(int64); return v, ok }

// i32 returns a whole number of 32 bits; ok is false where there is none.
func (t tree) i32(id int16) (int64, bool) { v, ok := t[id].(int32); return int64(v), ok }

// text returns a binary field as text, empty where there is none.
func (t tree) text(id int16) string { b, _ := t[id].([]byte); return string(b) }

// trees returns a list of structs; ok is false for anything else.
func (t tree) trees(id int16) (out []tree, ok bool) {
	list, ok := t[id].([]any)
	for _, item := range list {
		sub, isTree := item.(tree)
		if !isTree {
			return nil, false
		}
		out = append(out, sub)
	}
	return out, ok
}
