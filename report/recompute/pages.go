package recompute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// column is one decoded column. Of the lists of values one is filled, with a
// zero where the value is null.
type column struct {
	name   string
	kind   kind
	null   []bool
	flags  []bool
	wholes []int64
	nums   []float64
	texts  []string
}

// tableReader decodes the columns of one file within the bounds.
type tableReader struct {
	file []byte
	t    table
	zstd *zstd.Decoder
	left int64 // bytes that may still be unpacked
}

// newTableReader describes a file and makes it ready to be decoded; close it.
func newTableReader(file []byte) (*tableReader, error) {
	t, err := describe(file)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPageBytes))
	if err != nil {
		return nil, fmt.Errorf("unpack pages: %w", err)
	}
	return &tableReader{file: file, t: t, zstd: z, left: maxTableBytes}, nil
}

func (r *tableReader) close() { r.zstd.Close() }

// column decodes the column at position i over all row groups.
func (r *tableReader) column(i int) (*column, error) {
	c := &column{name: r.t.columns[i].name, kind: r.t.columns[i].kind}
	for _, g := range r.t.groups {
		if err := r.chunk(c, g.chunks[i], g.rows); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return c, nil
}

func (r *tableReader) chunk(c *column, at chunk, rows int64) error {
	data := r.file[at.from:at.to]
	for rows > 0 {
		n, rest, err := r.page(c, data, rows)
		if err != nil {
			return err
		}
		rows, data = rows-n, rest
	}
	if len(data) > 0 {
		return errors.New("bytes behind the last page")
	}
	return nil
}

// page decodes the page at the start of data and returns its number of values
// and what follows it.
func (r *tableReader) page(c *column, data []byte, rows int64) (int64, []byte, error) {
	head, used, err := decodeThrift(data)
	if err != nil {
		return 0, nil, fmt.Errorf("page: %w", err)
	}
	sort, sorted := head.i32(1)
	unpacked, _ := head.i32(2)
	packed, _ := head.i32(3)
	about, _ := head[5].(tree)
	n, _ := about.i32(1)
	encoding, stated := about.i32(2)
	levels, _ := about.i32(3)
	want := int64(encodingPlain)
	if c.kind == kindWhole {
		want = encodingDelta
	}
	data = data[used:]
	switch {
	case !sorted || sort != pageData || !stated || encoding != want || levels != encodingRLE:
		return 0, nil, fmt.Errorf("page: %w", errForm)
	case n <= 0 || n > rows:
		return 0, nil, fmt.Errorf("page claims %d values, %d are left", n, rows)
	case packed <= 0 || packed > int64(len(data)):
		return 0, nil, errors.New("page is longer than its column")
	case unpacked < 0 || unpacked > maxPageBytes || unpacked > r.left:
		return 0, nil, fmt.Errorf("page claims %d bytes", unpacked)
	}
	r.left -= unpacked
	body, err := r.zstd.DecodeAll(data[:packed], make([]byte, 0, unpacked))
	if err != nil || int64(len(body)) != unpacked {
		return 0, nil, errors.New("page cannot be unpacked to the size it claims")
	}
	if err := c.add(body, int(n)); err != nil {
		return 0, nil, fmt.Errorf("page: %w", err)
	}
	return n, data[packed:], nil
}

var errValues = errors.New("values cannot be decoded")

// add decodes a page: which values are null, then the others.
func (c *column) add(body []byte, n int) error {
	if len(body) < 4 {
		return errValues
	}
	size := int64(binary.LittleEndian.Uint32(body))
	if size > int64(len(body)-4) {
		return errValues
	}
	present, err := levels(body[4:4+size], n)
	if err != nil {
		return err
	}
	count := 0
	for _, p := range present {
		c.null = append(c.null, !p)
		if p {
			count++
		}
	}
	body = body[4+size:]
	switch c.kind {
	case kindWhole:
		return c.addWholes(body, present, count)
	case kindNumber:
		return c.addNumbers(body, present, count)
	case kindFlag:
		return c.addFlags(body, present, count)
	}
	return c.addTexts(body, present)
}

// levels decodes n definition levels of one bit, in runs and packed groups.
func levels(data []byte, n int) ([]bool, error) {
	out := make([]bool, 0, n)
	for len(out) < n {
		head, used := binary.Uvarint(data)
		if used <= 0 {
			return nil, errValues
		}
		data = data[used:]
		count := head >> 1
		if head&1 == 0 { // a run of one value
			if len(data) == 0 || data[0] > 1 || count == 0 || count > uint64(n-len(out)) {
				return nil, errValues
			}
			for range count {
				out = append(out, data[0] == 1)
			}
			data = data[1:]
			continue
		}
		if count == 0 || count > uint64(len(data)) { // groups of eight
			return nil, errValues
		}
		for i := range count * 8 {
			if len(out) < n {
				out = append(out, data[i/8]>>(i%8)&1 == 1)
			}
		}
		data = data[count:]
	}
	if len(data) > 0 {
		return nil, errValues
	}
	return out, nil
}

func (c *column) addWholes(body []byte, present []bool, count int) error {
	values, err := deltas(body, count)
	if err != nil {
		return err
	}
	for _, p := range present {
		v := int64(0)
		if p {
			v, values = values[0], values[1:]
		}
		c.wholes = append(c.wholes, v)
	}
	return nil
}

func (c *column) addNumbers(body []byte, present []bool, count int) error {
	if len(body) != 8*count {
		return errValues
	}
	for _, p := range present {
		v := 0.0
		if p {
			v, body = math.Float64frombits(binary.LittleEndian.Uint64(body)), body[8:]
		}
		c.nums = append(c.nums, v)
	}
	return nil
}

func (c *column) addFlags(body []byte, present []bool, count int) error {
	if len(body) != (count+7)/8 {
		return errValues
	}
	at := 0
	for _, p := range present {
		v := false
		if p {
			v = body[at/8]>>(at%8)&1 == 1
			at++
		}
		c.flags = append(c.flags, v)
	}
	return nil
}

func (c *column) addTexts(body []byte, present []bool) error {
	last := "" // most neighbours are equal; they share one text
	for _, p := range present {
		if !p {
			c.texts = append(c.texts, "")
			continue
		}
		if len(body) < 4 {
			return errValues
		}
		size := uint64(binary.LittleEndian.Uint32(body))
		if size > uint64(len(body)-4) {
			return errValues
		}
		if raw := body[4 : 4+size]; string(raw) != last {
			if !utf8.Valid(raw) {
				return errors.New("a text is not UTF-8")
			}
			last = string(raw)
		}
		c.texts = append(c.texts, last)
		body = body[4+size:]
	}
	if len(body) > 0 {
		return errValues
	}
	return nil
}

// deltas decodes n whole numbers of the encoding DELTA_BINARY_PACKED
// (https://github.com/apache/parquet-format/blob/master/Encodings.md).
func deltas(data []byte, n int) ([]int64, error) {
	r := thriftReader{data: data} // the integers have the same form
	var head [3]uint64            // values a block, parts a block, values
	for i := range head {
		v, err := r.varint()
		if err != nil {
			return nil, errValues
		}
		head[i] = v
	}
	first, err := r.zigzag()
	block, parts := head[0], head[1]
	if err != nil || head[2] != uint64(n) || parts == 0 || parts > 256 || block > 1<<16 || block%(parts*8) != 0 || block == 0 {
		return nil, errValues
	}
	out := make([]int64, 0, n)
	if n > 0 {
		out = append(out, first)
	}
	for len(out) < n {
		if out, err = r.deltaBlock(out, n, int(parts), int(block/parts)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// deltaBlock decodes one block: the smallest difference, the widths of the
// parts, and the parts, of which those behind the last value may be missing.
func (r *thriftReader) deltaBlock(out []int64, n, parts, each int) ([]int64, error) {
	least, err := r.zigzag()
	if err != nil {
		return nil, errValues
	}
	widths, err := r.take(uint64(parts))
	if err != nil {
		return nil, errValues
	}
	for _, width := range widths {
		if len(out) == n {
			return out, nil
		}
		if width > 64 {
			return nil, errValues
		}
		raw, err := r.take(uint64(each) * uint64(width) / 8)
		if err != nil {
			return nil, errValues
		}
		for i := 0; i < each && len(out) < n; i++ {
			out = append(out, out[len(out)-1]+least+int64(bitsAt(raw, i*int(width), int(width))))
		}
	}
	return out, nil
}

// bitsAt reads width bits from a bit position on, least significant first.
func bitsAt(raw []byte, at, width int) (v uint64) {
	for i := 0; i < width; {
		take := min(8-(at+i)%8, width-i)
		part := uint64(raw[(at+i)/8]) >> ((at + i) % 8) & (1<<take - 1)
		v |= part << i
		i += take
	}
	return v
}
