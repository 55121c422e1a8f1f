package ledger

import (
	"strconv"
	"strings"
	"time"

	"holdfast/affinity/store"
)

// day is the sums of one day, UTC, by its hours.
type day struct {
	hours [24]Sums
	marks marks
}

// The dimensions that have a day of their own for each name. Total has one name.
const (
	byTotal      = "total"
	byKey        = "key"
	byModel      = "model"
	byDeployment = "deployment"
)

// dateOf is the day that a time belongs to.
func dateOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// millis is a time in keys, ordered as text.
func millis(at int64) string {
	const zeros = "00000000000000"
	digits := strconv.FormatInt(max(at, 0), 10)
	return zeros[min(len(digits), len(zeros)):] + digits
}

// dayKey addresses one day of one name. A partition holds all days of a
// dimension, so that one query brings a stretch of days.
func dayKey(shard int, dimension, date, name string) store.Key {
	return store.Key{Table: store.Ledger, Partition: dayPartition(shard, dimension), Sort: date + "/" + name}
}

func dayPartition(shard int, dimension string) string {
	return "day/" + strconv.Itoa(shard) + "/" + dimension
}

// dayName takes the sort key of a day apart.
func dayName(sort string) (date, name string) {
	date, name, _ = strings.Cut(sort, "/")
	return date, name
}

// dayEnd is the end of the day that a key addresses.
func dayEnd(key store.Key) time.Time {
	date, _ := dayName(key.Sort)
	begin, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return time.Time{} // not one of dayKey's
	}
	return begin.Add(24 * time.Hour)
}

// take counts the events of one batch into their hours, and reports false where
// the record has them already.
func (d *day) take(by mark, events []share) bool {
	if d.marks.of(by.slot).number >= by.number {
		return false
	}
	for i := range events {
		d.hours[events[i].hour].Add(&events[i].sums)
	}
	d.marks = d.marks.with(by)
	return true
}

// share is what a batch adds to an hour.
type share struct {
	hour int
	sums Sums
}

// joined adds a share to others, those of an hour as one.
func joined(all []share, s share) []share {
	if last := len(all) - 1; last >= 0 && all[last].hour == s.hour {
		all[last].sums.Add(&s.sums)
		return all
	}
	return append(all, s)
}

func (d *day) encode() []byte {
	p := append(make(packer, 0, 256), version)
	used := int64(0)
	for i := range d.hours {
		if d.hours[i] != (Sums{}) {
			used++
		}
	}
	p.number(used)
	for i := range d.hours {
		if d.hours[i] != (Sums{}) {
			p.number(int64(i))
			p.sums(&d.hours[i])
		}
	}
	p.marks(d.marks)
	return p
}

// decodeDay reads a record; an absent one is the zero day.
func decodeDay(h store.Handle) (*day, error) {
	record, live := h.Record()
	if !live {
		return &day{}, nil
	}
	if len(record.Value) == 0 || record.Value[0] != version {
		return nil, ErrCorrupt
	}
	d := &day{}
	u := unpacker{rest: record.Value[1:]}
	for range u.count(24) {
		d.hours[u.count(23)] = u.sums()
	}
	d.marks = u.marks()
	if u.bad || len(u.rest) > 0 {
		return nil, ErrCorrupt
	}
	return d, nil
}
