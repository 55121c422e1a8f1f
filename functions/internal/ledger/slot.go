package ledger

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/store"
)

// batch is what a slot holds: events that are being booked, or none.
type batch struct {
	Number int64            `json:"number"` // grows from batch to batch; a time in Unix milliseconds, or more
	Events []jsontext.Value `json:"events,omitempty"`
}

func slotKey(slot int) store.Key {
	return store.Key{Table: store.Ledger, Partition: "slot/" + strconv.Itoa(slot), Sort: "batch"}
}

func (b batch) record() store.Record { return store.Record{Value: b.appendTo(nil)} }

// appendTo appends what a slot holds.
func (b batch) appendTo(value []byte) []byte {
	size := 64 // for the rest
	for _, text := range b.Events {
		size += len(text) + 1
	}
	value = strconv.AppendInt(append(slices.Grow(value, size), `{"number":`...), b.Number, 10)
	for i, text := range b.Events {
		if i == 0 {
			value = append(value, `,"events":[`...)
		} else {
			value = append(value, ',')
		}
		value = append(value, text...)
	}
	if len(b.Events) > 0 {
		value = append(value, ']')
	}
	return append(value, '}')
}

// decodeBatch reads a slot's record; an absent one has never held a batch.
func decodeBatch(h store.Handle) (batch, error) {
	record, live := h.Record()
	if !live {
		return batch{}, nil
	}
	var b batch
	if json.Unmarshal(record.Value, &b) != nil {
		return batch{}, ErrCorrupt
	}
	return b, nil
}

// booking is an event on its way into the records.
type booking struct {
	event Event
	text  []byte // its JSON
	sums  Sums
	sort  string // of the event's key
}

func newBooking(e Event) *booking {
	b := &booking{event: e}
	b.event.bound()
	b.text, b.sums, b.sort = b.event.encode(), Of(&b.event), eventSort(&b.event)
	return b
}

// bookings are a batch's events again, as a slot holds them.
func (b batch) bookings() ([]*booking, error) {
	all := make([]*booking, len(b.Events))
	for i, text := range b.Events {
		e, err := decodeEvent(text)
		if err != nil {
			return nil, err
		}
		all[i] = &booking{event: e, text: text, sums: Of(&e), sort: eventSort(&e)}
	}
	return all, nil
}

// key addresses an event: beside its session's others, in the order of
// time. Those without a session lie together by day.
func (b *booking) key() store.Key {
	e := &b.event
	partition := "apart/" + dateOf(e.Time) + "/" + strconv.Itoa(shardOf(e.ID))
	if digits, scoped := hexOf(e.SessionID); scoped {
		partition = "session/" + digits
	}
	return store.Key{Table: store.Ledger, Partition: partition, Sort: eventPrefix + b.sort}
}

// eventPrefix stands before events in a session's partition.
const eventPrefix = "event/"

// eventSort orders events by the microsecond: a client that asks again at once
// does so within the same millisecond.
func eventSort(e *Event) string {
	micros := e.Time.UnixMicro()
	return millis(micros/1000) + strconv.FormatInt(1000+micros%1000, 10)[1:] + "/" + e.ID
}

// record is the event as it is kept, with the batch that counts it: there is
// only one, in whatever batches it comes again.
// The value stands in room, which may be used again once it is written.
func (b *booking) record(room *packer, by mark, retention keeping) store.Record {
	*room = append((*room)[:0], version)
	room.number(int64(by.slot))
	room.number(by.number)
	*room = append(*room, b.text...)
	return store.Record{
		Value: *room, Expires: retention.until(b.event.Time),
		Index: store.Index{Partition: eventList(shardOf(b.event.ID)), Sort: b.sort},
	}
}

// openEvent returns the JSON of a kept event and the batch that counts it.
func openEvent(h store.Handle) (text []byte, by mark, _ error) {
	record, live := h.Record()
	if !live || len(record.Value) == 0 || record.Value[0] != version {
		return nil, mark{}, ErrCorrupt
	}
	u := unpacker{rest: record.Value[1:]}
	by = mark{slot: u.count(slots - 1), number: u.number()}
	if u.bad {
		return nil, mark{}, ErrCorrupt
	}
	return u.rest, by, nil
}

func eventList(shard int) string { return "events/" + strconv.Itoa(shard) }
