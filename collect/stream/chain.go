package stream

// Bounds of one block of a chain or arena, in bytes. The first block is small
// because most requests keep little; the last is bounded so that what a block
// wastes stays well below 1 MiB.
const (
	minBlock = 4 << 10
	maxBlock = 512 << 10
)

// nextBlock is the size of a new block when kept bytes are already held:
// doubling, within the bounds.
func nextBlock(kept int) int { return min(max(kept, minBlock), maxBlock) }

// chain keeps bytes in blocks. Unlike a growing slice it never copies what it
// holds, so that a long line costs its own size once.
type chain struct {
	blocks [][]byte
	size   int // bytes held
}

// add appends a copy of p.
func (c *chain) add(p []byte) {
	for len(p) > 0 {
		last := len(c.blocks) - 1
		if last < 0 || len(c.blocks[last]) == cap(c.blocks[last]) {
			c.blocks = append(c.blocks, make([]byte, 0, nextBlock(c.size)))
			last++
		}
		b := c.blocks[last]
		n := min(cap(b)-len(b), len(p))
		c.blocks[last] = append(b, p[:n]...)
		c.size += n
		p = p[n:]
	}
}

// appendTo appends the held bytes to dst.
func (c *chain) appendTo(dst []byte) []byte {
	for _, b := range c.blocks {
		dst = append(dst, b...)
	}
	return dst
}

// reset forgets the bytes. The first block, never larger than minBlock, is
// kept for reuse.
func (c *chain) reset() {
	if len(c.blocks) > 0 {
		clear(c.blocks[1:])
		c.blocks = c.blocks[:1]
		c.blocks[0] = c.blocks[0][:0]
	}
	c.size = 0
}

// arena keeps many small byte strings in few allocations. What it hands out
// stays valid and is never written again.
type arena struct {
	block []byte
	size  int // bytes handed out
}

// keep returns a copy of p, never nil: an empty payload is not a missing one.
func (a *arena) keep(p []byte) []byte {
	if len(p) == 0 {
		return []byte{}
	}
	a.size += len(p)
	room := cap(a.block) - len(a.block)
	if len(p) > room {
		size := nextBlock(a.size)
		if len(p) > size/4 { // large: a block of its own, the open one goes on
			return append(make([]byte, 0, len(p)), p...)
		}
		a.block = make([]byte, 0, size)
	}
	start := len(a.block)
	a.block = append(a.block, p...)
	return a.block[start:len(a.block):len(a.block)]
}
