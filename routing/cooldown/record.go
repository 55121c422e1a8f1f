package cooldown

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// ErrInvalid says that bytes are no record of this package. What it held is
// advice only: a caller may go on with the zero Pool.
var ErrInvalid = errors.New("cooldown: invalid record")

// version is the first byte of a record. Another number is another form.
const version = 1

// Encode returns the pool's record, without what is over at now. A pool that
// has nothing left to say gives an empty record.
func (p Pool) Encode(now time.Time) []byte {
	p = p.live(now).bounded()
	if p.Empty() {
		return nil
	}
	b := binary.AppendUvarint([]byte{version}, uint64(len(p.rests)))
	for _, r := range p.rests {
		b = r.append(b)
	}
	return b
}

// Expires returns when the record has nothing left to say: the end of its last
// cooldown or failure window. The zero time means never, for a drain lasts.
func (p Pool) Expires() time.Time {
	var last int64
	for _, r := range p.rests {
		if r.drained {
			return time.Time{}
		}
		last = max(last, r.ends())
	}
	return time.UnixMilli(last)
}

// ends returns when nothing of the state matters any more. A wake is kept for
// a while so that a straggler's view cannot undo it.
func (r *rest) ends() int64 {
	end := r.until
	for _, f := range r.failures {
		end = max(end, f.at+Window.Milliseconds())
	}
	if r.woken != 0 {
		end = max(end, r.woken+Window.Milliseconds())
	}
	return end
}

// live leaves out the states that are over at now.
func (p Pool) live(now time.Time) Pool {
	at := now.UnixMilli()
	return Pool{slices.DeleteFunc(slices.Clone(p.rests), func(r rest) bool { return !r.drained && r.ends() <= at })}
}

// bounded keeps MaxDeployments states: drains, then what lasts longest.
func (p Pool) bounded() Pool {
	if len(p.rests) <= MaxDeployments {
		return p
	}
	rests := slices.Clone(p.rests)
	slices.SortStableFunc(rests, func(a, b rest) int {
		if a.drained != b.drained {
			if a.drained {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.ends(), a.ends())
	})
	rests = rests[:MaxDeployments]
	slices.SortFunc(rests, func(a, b rest) int { return cmp.Compare(a.id, b.id) })
	return Pool{rests}
}

func (r *rest) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.id)))
	b = append(b, r.id...)
	flags := byte(r.cause) << 1
	if r.drained {
		flags |= 1
	}
	b = append(b, flags)
	for _, at := range []int64{r.until, r.cooled, r.woken, r.switched} {
		b = binary.AppendUvarint(b, uint64(at))
	}
	b = binary.AppendUvarint(b, uint64(len(r.failures)))
	var last int64
	for _, f := range r.failures { // sorted: the distances are small
		b = binary.AppendUvarint(b, uint64(f.at-last))
		b = binary.BigEndian.AppendUint32(b, f.session)
		last = f.at
	}
	return b
}

// Decode reads a record. No bytes are the zero Pool.
func Decode(b []byte) (Pool, error) {
	if len(b) == 0 {
		return Pool{}, nil
	}
	if b[0] != version {
		return Pool{}, ErrInvalid
	}
	d := decoder{rest: b[1:]}
	n := d.count(MaxDeployments)
	p := Pool{make([]rest, 0, min(n, 16))}
	for range n {
		r := d.state()
		if len(p.rests) > 0 && r.id <= p.rests[len(p.rests)-1].id {
			d.bad = true
		}
		if d.bad {
			return Pool{}, ErrInvalid
		}
		p.rests = append(p.rests, r)
	}
	if d.bad || n == 0 || len(d.rest) > 0 {
		return Pool{}, ErrInvalid
	}
	return p, nil
}

// decoder reads fields until the first that is wrong; from then on all are
// zero and bad is set.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) state() rest {
	r := rest{id: string(d.bytes(d.count(MaxID)))}
	if flags := d.bytes(1); len(flags) == 1 {
		r.drained, r.cause = flags[0]&1 == 1, Cause(flags[0]>>1)
	}
	for _, at := range []*int64{&r.until, &r.cooled, &r.woken, &r.switched} {
		*at = d.millis()
	}
	n := d.count(MaxFailures)
	var last int64
	for range n {
		f := failure{at: last + d.millis()}
		if s := d.bytes(4); len(s) == 4 {
			f.session = binary.BigEndian.Uint32(s)
		}
		if d.bad || len(r.failures) > 0 && compareFailures(r.failures[len(r.failures)-1], f) >= 0 {
			d.bad = true
			return r
		}
		r.failures = append(r.failures, f)
		last = f.at
	}
	d.bad = d.bad || !r.valid()
	return r
}

// valid reports whether the state is one that events lead to.
func (r *rest) valid() bool {
	cools := r.until != 0 && r.cooled > r.woken
	rested := r.until == 0 && r.cooled == 0 && r.cause == 0
	return r.id != "" && r.cause < causes && (cools || rested)
}

// lastMilli bounds times to the year 9999, so that sums cannot overflow.
const lastMilli = 253402300799999

func (d *decoder) millis() int64 {
	return int64(d.count(lastMilli))
}

// count reads a number of at most most, in its shortest form.
func (d *decoder) count(most uint64) int {
	v, n := binary.Uvarint(d.rest)
	if d.bad || n <= 0 || v > most || n > 1 && d.rest[n-1] == 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) bytes(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}
