package ledger

import (
	"encoding/binary"
	"math"
)

// version begins every packed record.
const version = 1

// packer writes records: numbers as varints, texts with their length.
type packer []byte

func (p *packer) number(n int64) { *p = binary.AppendVarint(*p, n) }
func (p *packer) text(s string)  { p.number(int64(len(s))); *p = append(*p, s...) }
func (p *packer) sums(s *Sums) {
	last := len(s)
	for last > 0 && s[last-1] == 0 {
		last--
	}
	p.number(int64(last))
	for _, n := range s[:last] {
		p.number(n)
	}
}

// unpacker reads what packer wrote, until the first thing that is wrong; from
// then on all is zero and bad is set.
type unpacker struct {
	rest []byte
	bad  bool
}

func (u *unpacker) number() int64 {
	n, width := binary.Varint(u.rest)
	if u.bad || width <= 0 {
		u.bad = true
		return 0
	}
	u.rest = u.rest[width:]
	return n
}

// count reads a number of things, at most most.
func (u *unpacker) count(most int) int {
	n := u.number()
	if n < 0 || n > int64(most) {
		u.bad = true
		return 0
	}
	return int(n)
}

func (u *unpacker) text() string {
	n := u.count(math.MaxInt32)
	if u.bad || n > len(u.rest) {
		u.bad = true
		return ""
	}
	text := string(u.rest[:n])
	u.rest = u.rest[n:]
	return text
}

// sums reads at most the numbers that this version knows; a later one may have
// written more, which are passed over.
func (u *unpacker) sums() Sums {
	var s Sums
	for i := range u.count(256) {
		if n := u.number(); i < len(s) {
			s[i] = n
		}
	}
	return s
}

// mark says up to which batch of a slot a record has taken events in.
type mark struct {
	slot   int
	number int64 // of the batch
	before int64 // sessions: the last activity before it, Unix milliseconds; 0 for none
}

// marks are a record's, the one that was written last at the end.
type marks []mark

// A record has at most one for each slot: batches of a slot end one after the
// other, so an earlier one is never asked for again.

// of returns a slot's mark, the zero mark for none.
func (m marks) of(slot int) mark {
	for _, one := range m {
		if one.slot == slot {
			return one
		}
	}
	return mark{}
}

// with returns the marks with a new one.
func (m marks) with(next mark) marks {
	all := make(marks, 0, len(m)+1)
	for _, one := range m {
		if one.slot != next.slot {
			all = append(all, one)
		}
	}
	return append(all, next)
}

func (p *packer) marks(all marks) {
	p.number(int64(len(all)))
	for _, one := range all {
		p.number(int64(one.slot))
		p.number(one.number)
		p.number(one.number - one.before) // both are times, mostly close to each other
	}
}

func (u *unpacker) marks() marks {
	var all marks
	for range u.count(slots) {
		one := mark{slot: u.count(slots - 1), number: u.number()}
		one.before = one.number - u.number()
		all = append(all, one)
	}
	return all
}
