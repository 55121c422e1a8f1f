package bridge_test

import (
	"bytes"
	"fmt"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// prose is a streamed answer of so many pieces.
func prose(t fataler, target wire.Protocol, pieces int) []sse.Event {
	raw := writeStream(t, target, wire.Reply{
		Parts: []wire.Part{{Kind: wire.Text, Text: string(bytes.Repeat([]byte("word "), pieces))}}, Stop: wire.StopEnd, HasUsage: true, Usage: wire.Usage{Input: 9, Output: int64(pieces)},
	})
	var events []sse.Event
	for r := sse.NewReader(bytes.NewReader(raw), 0); ; {
		e, err := r.Next()
		if err != nil {
			return events
		}
		events = append(events, sse.Event{Raw: bytes.Clone(e.Raw), Name: bytes.Clone(e.Name), Data: bytes.Clone(e.Data)})
	}
}

// BenchmarkStream is a streamed answer of 200 pieces, followed only, as where no
// bridge is needed, and translated for each client.
func BenchmarkStream(b *testing.B) {
	for _, target := range []wire.Protocol{wire.Chat, wire.Responses, wire.Messages} {
		events := prose(b, target, 200)
		b.Run("native/"+string(target), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := followerOf(target)
				for _, e := range events {
					s.Event(e.Name, e.Data)
				}
			}
		})
	}
	for _, pair := range pairs() {
		events := prose(b, pair[1], 200)
		tr := translate(b, pair[0], pair[1], minimal(pair[0], true), options(pair[0]))
		b.Run(fmt.Sprintf("%s-%s", pair[0], pair[1]), func(b *testing.B) {
			b.ReportAllocs()
			var room []byte
			for b.Loop() {
				judge, s := followerOf(pair[1]), tr.Stream()
				for _, e := range events {
					judge.Event(e.Name, e.Data)
					room = s.Event(room[:0], e.Name, e.Data)
				}
			}
		})
	}
}

// TestStreamsStayInProportion: an event of a long answer costs what one of a short
// answer does.
func TestStreamsStayInProportion(t *testing.T) {
	for _, pair := range pairs() {
		each := func(pieces int) float64 {
			events, room := prose(t, pair[1], pieces), []byte(nil)
			tr := translate(t, pair[0], pair[1], minimal(pair[0], true), options(pair[0]))
			return testing.AllocsPerRun(3, func() {
				s := tr.Stream()
				for _, e := range events {
					room = s.Event(room[:0], e.Name, e.Data)
				}
			}) / float64(pieces)
		}
		if short, long := each(200), each(4000); long > 1.2*short+1 || short > 12 {
			t.Errorf("%v: %.1f allocations an event of 200, %.1f of 4000", pair, short, long)
		}
	}
}
