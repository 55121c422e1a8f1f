package affinity

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"holdfast/affinity/store"
)

func testCodec(t rapid.TB) *codec {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// join undoes chunks.
func join(c *codec, chunks [][]byte, budget uint64) (head, Turn, error) {
	h, err := parseHead(chunks[0])
	if err != nil {
		return h, Turn{}, err
	}
	var rest [][]byte
	for _, chunk := range chunks[1:] {
		_, data, err := parseChunk(chunk)
		if err != nil {
			return h, Turn{}, err
		}
		rest = append(rest, data)
	}
	t, err := c.unpack(h, rest, budget)
	return h, t, err
}

func TestTurnsRoundTrip(t *testing.T) {
	c := testCodec(t)
	rapid.Check(t, func(t *rapid.T) {
		turn := Turn{
			Input:  rapid.SliceOf(rapid.Byte()).Draw(t, "input"),
			Output: rapid.SliceOf(rapid.Byte()).Draw(t, "output"),
		}
		parent := link(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "parent"))
		self := linkTo(parent, "id", turn)
		h, got, err := join(c, c.chunks(parent, self, turn), maxHistory)
		if err != nil || !bytes.Equal(got.Input, turn.Input) || !bytes.Equal(got.Output, turn.Output) {
			t.Fatalf("%q %q %v", got.Input, got.Output, err)
		}
		if h.self != self || h.parent != parent || h.chunks != 1 {
			t.Fatalf("%+v", h)
		}
	})
}

// Whatever stands in a record, reading it ends in an error or in a turn within
// its budget.
func TestDamagedTurns(t *testing.T) {
	c := testCodec(t)
	whole := c.chunks(link{}, link{1}, Turn{Input: []byte("input"), Output: bytes.Repeat([]byte("output "), 100)})[0]
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "length")]
		if _, turn, err := join(c, [][]byte{b}, 1000); err == nil && turn.size() > 1000 {
			t.Fatalf("unpacked %d bytes", turn.size())
		}
	})
}

func TestUnpackIsBounded(t *testing.T) {
	c := testCodec(t)
	chunks := c.chunks(link{}, link{1}, Turn{Output: make([]byte, 1<<20)})
	if _, _, err := join(c, chunks, 1<<20); !errors.Is(err, ErrHistoryLimit) {
		t.Errorf("beyond the budget: %v", err)
	}
	// A head that claims less than its frame unpacks to is found out.
	h, _ := parseHead(chunks[0])
	h.raw = 100
	if _, err := c.unpack(h, nil, maxHistory); !errors.Is(err, errTorn) {
		t.Errorf("a lying head: %v", err)
	}
}

func TestChunksFitTheStore(t *testing.T) {
	c := testCodec(t)
	body := make([]byte, 4*store.MaxValue)
	for i := range body {
		body[i] = byte(i * i >> 7 * (i >> 3))
	}
	for _, chunk := range c.chunks(link{}, link{1}, Turn{Output: body}) {
		if len(chunk) > store.MaxValue {
			t.Errorf("a chunk of %d bytes", len(chunk))
		}
	}
}

func TestLinks(t *testing.T) {
	base := linkTo(link{}, "id", Turn{Input: []byte("ab"), Output: []byte("c")})
	for name, other := range map[string]link{
		"parent":   linkTo(link{1}, "id", Turn{Input: []byte("ab"), Output: []byte("c")}),
		"id":       linkTo(link{}, "ie", Turn{Input: []byte("ab"), Output: []byte("c")}),
		"content":  linkTo(link{}, "id", Turn{Input: []byte("ab"), Output: []byte("d")}),
		"boundary": linkTo(link{}, "id", Turn{Input: []byte("a"), Output: []byte("bc")}),
	} {
		if other == base {
			t.Errorf("the %s does not enter the link", name)
		}
	}
}

func TestChunkSortOrder(t *testing.T) {
	last := ""
	for depth := range 1200 {
		for _, chunk := range []int{0, 1, 9, 10, 99} {
			if s := chunkSort("0", depth, chunk); s <= last {
				t.Fatalf("%s after %s", s, last)
			} else {
				last = s
			}
		}
	}
	if chunkSort("0", maxTurns, maxChunks) >= chunkSort("1", 0, 0) {
		t.Error("lines overlap")
	}
}
