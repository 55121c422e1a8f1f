package bolt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"holdfast/affinity/store"
)

// How records lie in the file. Integers in keys are big-endian, so that bytewise
// order is their order.
//
//	record key    partition length (2 bytes), partition, sort
//	index key     partition length (2 bytes), partition, escaped sort, 0, record key
//	expiry key    Unix seconds (8 bytes), table (1 byte), record key
//	record value  version, CRC-32C of key and rest, then the rest: revision,
//	              expiry, index, counters, value
//
// In an escaped sort each zero byte is followed by 0xff. A record key begins
// with a byte below 5, so a sort that ends comes before one that goes on.
const recordVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one stored state of a record, live or not.
type entry struct {
	revision string
	record   store.Record
}

// live returns the entry's record where it counts as present.
func (e *entry) live(now time.Time) (store.Record, bool) {
	if e == nil || !e.record.Live(now) {
		return store.Record{}, false
	}
	return e.record, true
}

func (e *entry) handle(k store.Key, now time.Time) store.Handle {
	if r, live := e.live(now); live {
		return store.NewHandle(k, e.revision, r)
	}
	return store.NewHandle(k, "", store.Record{})
}

// partitionPrefix begins the keys of one partition and of no other, since its
// length comes first. It has room for a sort.
func partitionPrefix(partition string) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+2*len(partition)), uint16(len(partition)))
	return append(b, partition...)
}

func recordKey(k store.Key) []byte { return append(partitionPrefix(k.Partition), k.Sort...) }

// parseRecordKey is recordKey's inverse.
func parseRecordKey(t store.Table, b []byte) (store.Key, error) {
	if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
		return store.Key{}, ErrDamaged
	}
	n := 2 + int(binary.BigEndian.Uint16(b))
	return store.Key{Table: t, Partition: string(b[2:n]), Sort: string(b[n:])}, nil
}

// indexKey says all by itself: an index entry has no value, and the record that
// it points to is read by the end of the key.
func indexKey(ix store.Index, record []byte) []byte {
	return append(append(escape(partitionPrefix(ix.Partition), ix.Sort), 0), record...)
}

func escape(b []byte, s string) []byte {
	for i := range len(s) {
		if b = append(b, s[i]); s[i] == 0 {
			b = append(b, 0xff)
		}
	}
	return b
}

// recordOfIndexKey returns the record key at the end of an index key.
func recordOfIndexKey(b []byte) ([]byte, error) {
	if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
		return nil, ErrDamaged
	}
	b = b[2+int(binary.BigEndian.Uint16(b)):]
	for i := 0; i+1 < len(b); i++ {
		if b[i] != 0 {
			continue
		}
		if b[i+1] != 0xff {
			return b[i+1:], nil
		}
		i++
	}
	return nil, ErrDamaged
}

// expiryKey puts the earliest expiry of all tables first, which is all that a
// sweep has to look at.
func expiryKey(t store.Table, expires time.Time, record []byte) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(record)), uint64(expires.Unix()))
	return append(append(b, byte(t)), record...)
}

// encode returns the stored form of an entry under its record key.
func encode(key []byte, e *entry) []byte {
	r := e.record
	b := make([]byte, 5, 64+len(e.revision)+len(r.Index.Partition)+len(r.Index.Sort)+len(r.Value))
	b = appendText(b, e.revision)
	seconds := int64(0) // never; RoundExpiry leaves no other 0
	if !r.Expires.IsZero() {
		seconds = r.Expires.Unix()
	}
	b = binary.AppendVarint(b, seconds)
	b = appendText(appendText(b, r.Index.Partition), r.Index.Sort)
	b = binary.AppendUvarint(b, uint64(len(r.Counters)))
	for _, name := range slices.Sorted(maps.Keys(r.Counters)) {
		b = binary.AppendVarint(appendText(b, name), r.Counters[name])
	}
	b = append(b, r.Value...)
	b[0] = recordVersion
	binary.BigEndian.PutUint32(b[1:], checksum(key, b[5:]))
	return b
}

// checksum covers the key too, so that a record found in another's place is
// damage and not an answer.
func checksum(key, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, rest)
}

// decode reads what encode wrote. The entry shares no memory with b. Nil b is
// no entry.
func decode(key, b []byte) (*entry, error) {
	if b == nil {
		return nil, nil
	}
	if len(b) < 5 || b[0] != recordVersion || binary.BigEndian.Uint32(b[1:]) != checksum(key, b[5:]) {
		return nil, ErrDamaged
	}
	r := reader{b: b[5:]}
	e := &entry{revision: r.text()}
	if seconds := r.varint(); seconds != 0 {
		e.record.Expires = time.Unix(seconds, 0).UTC()
	}
	e.record.Index = store.Index{Partition: r.text(), Sort: r.text()}
	// n comes from the file: it must not decide how much memory is asked for.
	if n := r.uvarint(); n > 0 && !r.failed {
		e.record.Counters = make(map[string]int64, min(n, store.MaxDeltas))
		for range n {
			name := r.text()
			e.record.Counters[name] = r.varint()
			if r.failed {
				break
			}
		}
	}
	if r.failed || e.revision == "" {
		return nil, ErrDamaged
	}
	e.record.Value = bytes.Clone(r.b)
	return e, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader takes values off the front of b, until one of them is not there.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) uvarint() uint64 {
	n, width := binary.Uvarint(r.b)
	r.advance(width)
	return n
}

func (r *reader) varint() int64 {
	n, width := binary.Varint(r.b)
	r.advance(width)
	return n
}

// advance drops what a varint took; a width below one says that there was none.
func (r *reader) advance(width int) {
	if width <= 0 || width > len(r.b) {
		r.failed, r.b = true, nil
		return
	}
	r.b = r.b[width:]
}

func (r *reader) text() string {
	n := r.uvarint()
	if r.failed || n > uint64(len(r.b)) {
		r.failed = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
