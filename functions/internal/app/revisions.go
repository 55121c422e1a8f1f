package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// revisions keeps configuration documents: one record for each revision, never
// changed, and one that names the revision in force, changed only by
// compare-and-swap.
type revisions struct {
	store store.Store // nil: documents are not stored
}

// maxStored bounds a stored document after decompression, in bytes.
const maxStored = catalog.MaxDocument

// named is the value of the record that names the revision in force.
type named struct {
	Revision string    `json:"revision"`
	At       time.Time `json:"at"`
}

// partition holds all records of the configuration.
const partition = "configuration"

func (r revisions) keys() []store.Key {
	if r.store == nil {
		return nil
	}
	return []store.Key{headKey()}
}

func headKey() store.Key {
	return store.Key{Table: store.Config, Partition: partition, Sort: "current"}
}

// documentKey addresses one revision. Revisions sort by the time they were
// written.
func documentKey(revision string) store.Key {
	return store.Key{Table: store.Config, Partition: partition, Sort: "revision/" + revision}
}

// revisionOf returns the revision that a head record names, "" for none.
func revisionOf(head store.Handle) string {
	record, live := head.Record()
	if !live {
		return ""
	}
	var n named
	if json.Unmarshal(record.Value, &n) != nil {
		return ""
	}
	return n.Revision
}

// head reads the record that names the revision in force.
func (r revisions) head(ctx context.Context) (store.Handle, error) {
	read, err := r.store.Read(ctx, headKey())
	if err != nil {
		return store.Handle{}, err
	}
	return read[0], nil
}

// put stores a document and makes it rule, if head is still what rules.
func (r revisions) put(ctx context.Context, head store.Handle, doc *catalog.Document, now time.Time) (store.Handle, error) {
	plain, err := doc.JSON()
	if err != nil {
		return head, err
	}
	compress, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return head, err
	}
	packed := compress.EncodeAll(plain, nil)
	if len(packed) > store.MaxValue {
		return head, fmt.Errorf("%w: %d bytes compressed, %d allowed", ErrInvalidDocument, len(packed), store.MaxValue)
	}
	revision := now.UTC().Format("20060102T150405.000") + "-" + rand.Text()[:8]
	absent, err := r.store.Read(ctx, documentKey(revision))
	if err != nil {
		return head, err
	}
	if _, err := r.store.Swap(ctx, absent[0], store.Record{Value: packed}); err != nil {
		return head, err
	}
	name, err := json.Marshal(named{Revision: revision, At: now.UTC()})
	if err != nil {
		return head, err
	}
	return r.store.Swap(ctx, head, store.Record{Value: name})
}

// errTorn says that a revision is named but its document cannot be read.
var errTorn = errors.New("document is missing or damaged")

// document loads the document of a revision.
func (r revisions) document(ctx context.Context, revision string) (*catalog.Document, error) {
	read, err := r.store.Read(ctx, documentKey(revision))
	if err != nil {
		return nil, err
	}
	record, live := read[0].Record()
	if !live {
		return nil, errTorn
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxStored))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()
	plain, err := unpack.DecodeAll(record.Value, nil)
	if err != nil {
		return nil, errTorn
	}
	doc, problems := catalog.Load(plain)
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("%w: %s", ErrInvalidDocument, problems[0].String())
	}
	return doc, nil
}
