package exchange

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
)

// Bounds of a kept answer, in bytes.
const (
	maxKept   = 2 << 20   // as the client sees it
	maxPacked = 256 << 10 // as it is stored
)

// kept is an answer in the response cache, as the client saw it.
type kept struct {
	ContentType string     `json:"content_type"`
	Body        []byte     `json:"body"`
	Usage       wire.Usage `json:"usage,omitzero"`
	HasUsage    bool       `json:"has_usage,omitzero"`
	Cost        *float64   `json:"cost,omitzero"`    // USD, what asking again would cost; nil: unknown
	Dropped     string     `json:"dropped,omitzero"` // what its deployment did not see, as its header said
}

// cacheable reports whether the template in force keeps answers and this request
// may be answered with one: never a continuation, nor what the client asked not
// to be stored, nor what has an effect beyond its answer.
func (e *exchange) cacheable() bool {
	policy := e.in.Principal.Caller.Policy
	if policy == nil || !policy.CacheAnswers || e.codec.errand || e.in.Principal.Scope.IsZero() || e.in.Compact {
		return false
	}
	switch e.in.Endpoint {
	case wire.EndpointChat, wire.EndpointResponses, wire.EndpointMessages, wire.EndpointEmbeddings:
	default:
		return false
	}
	f := e.facts
	kept, _ := f.Value("store").Bool()
	refused := f.Value("store").Exists() && !kept
	return !refused && f.PreviousResponseID == "" && !f.Background && !f.Value("conversation").Given() &&
		!strings.Contains(strings.ToLower(e.http.Header.Get("Cache-Control")), "no-store")
}

// answerKey addresses the answer to exactly this request of this caller under
// this configuration: the body in its canonical form, numbers as written.
func (e *exchange) answerKey() (store.Key, bool) {
	body := jsontext.Value(bytes.Clone(e.in.Body))
	if body.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return store.Key{}, false
	}
	sum := identity.Hash("answer", e.in.Principal.Scope.String(), e.in.Endpoint, e.facts.Model, e.in.Snapshot.Catalog.Revision(), string(body))
	return store.Key{Table: store.Affinity, Partition: "answer/" + hex.EncodeToString(sum[:]), Sort: "answer"}, true
}

// recall takes the answer that the one read has brought, if there is one.
func (e *exchange) recall() bool {
	record, there := e.cached.Record()
	if !e.caches || !there {
		return false
	}
	unpack, err := gzip.NewReader(bytes.NewReader(record.Value))
	if err != nil {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(unpack, 2*maxKept))
	if err != nil {
		return false
	}
	found := new(kept)
	if json.Unmarshal(text, found) != nil {
		return false
	}
	e.found = found
	return true
}

// replay answers with what was kept: nobody is called, no preference touched.
func (e *exchange) replay() {
	nothing := 0.0
	e.line.Status, e.line.Cache, e.line.Cost, e.line.CacheSaved = http.StatusOK, "hit", &nothing, e.found.Cost
	if e.found.HasUsage {
		e.line.Usage = &e.found.Usage
	}
	e.line.FirstByte = e.Now().Sub(e.in.Start)
	e.closing()
	_ = e.reply.body(e.found.Body, http.StatusOK, func(h http.Header) {
		h.Set("Content-Type", e.found.ContentType)
		h.Set("X-Holdfast-Cache", "hit")
		if e.found.Dropped != "" {
			h.Set(droppedHeader, e.found.Dropped)
		}
		if !e.facts.Stream {
			h.Set("Content-Length", strconv.Itoa(len(e.found.Body)))
		}
	})
}

// keep stores a whole answer after the client has it. What was stopped by a
// limit, a filter or a refusal might have come out otherwise and is not kept.
func (e *exchange) keep(answer wire.Answer) {
	if !e.caches || answer.Status != wire.Completed {
		return
	}
	e.later(func(ctx context.Context) {
		seen, kind := e.reply.copied()
		if seen == nil {
			return
		}
		record, fits := pack(kept{ContentType: kind, Body: seen, Usage: answer.Usage, HasUsage: answer.HasUsage, Cost: e.line.Cost, Dropped: e.dropped()})
		if !fits {
			return
		}
		record.Expires = e.Now().Add(e.in.Principal.Caller.Policy.CacheAnswersTTL)
		if _, err := e.Store.Swap(ctx, e.cached, record); err != nil {
			e.Log.WarnContext(ctx, "an answer was not kept", "request_id", e.in.ID, "error", err)
		}
	})
}

// pack returns the record of a kept answer, and whether it is small enough.
func pack(k kept) (store.Record, bool) {
	text, err := json.Marshal(k)
	if err != nil {
		return store.Record{}, false
	}
	var packed bytes.Buffer
	into := gzip.NewWriter(&packed)
	_, _ = into.Write(text) // into memory: cannot fail
	_ = into.Close()
	return store.Record{Value: packed.Bytes()}, packed.Len() <= maxPacked
}
