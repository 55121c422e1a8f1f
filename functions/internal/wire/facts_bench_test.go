package wire_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
)

func BenchmarkInspect(b *testing.B) {
	body := agentBody(b)
	b.Run("validation alone", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if !jsontext.Value(body).IsValid() {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("inspect", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, p := wire.Inspect(wire.EndpointMessages, body); p != nil {
				b.Fatal(p)
			}
		}
	})
	b.Run("needs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, _ := wire.Inspect(wire.EndpointMessages, body)
			f.HasImages()
		}
	})
}
