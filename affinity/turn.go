package affinity

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"holdfast/affinity/store"
)

// Bounds of what is restored, counted before compression.
const (
	maxHistory = 32 << 20 // bytes of one chain, and so of one turn
	maxTurns   = 4096     // turns of one chain
)

// Turn is what one response added to a conversation. Both parts are opaque.
type Turn struct {
	Input  []byte // what the request added
	Output []byte // what the answer was, unmodified
}

// size bounds the bytes that a turn unpacks to.
func (t Turn) size() int { return binary.MaxVarintLen64 + len(t.Input) + len(t.Output) }

// link identifies a turn by its content and all that came before it.
type link [16]byte

// linkTo chains a turn to its parent: two turns with one id but other content,
// or the same content after another past, have different links. A chain that is
// read back is therefore whole and its own, or visibly not.
func linkTo(parent link, id string, t Turn) link {
	h := sha256.New()
	for _, part := range [][]byte{parent[:], []byte(id), t.Input, t.Output} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return link(h.Sum(nil))
}

// A stored turn is one or more chunks. Every chunk starts with a format byte and
// the turn's link; the first goes on with the parent's link and two uvarints: the
// number of chunks, and the bytes that the packed turn unpacks to.
const (
	turnFormat  = 1
	chunkPrefix = 1 + len(link{})
	headRoom    = chunkPrefix + len(link{}) + 2*binary.MaxVarintLen64
	chunkData   = store.MaxValue - headRoom
	maxChunks   = 2 * maxHistory / chunkData // of one turn, incompressible or not
)

// errTorn: the stored turns do not form the chain that was asked for.
var errTorn = errors.New("affinity: chain is torn")

// codec packs turns with zstd. It is safe for concurrent use and costs nothing
// until it is first needed.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (*codec, error) {
	// The window is kept small: turns are, and memory counts on a small function.
	encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("affinity: history encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(maxHistory))
	if err != nil {
		return nil, fmt.Errorf("affinity: history decoder: %w", err)
	}
	return &codec{encoder, decoder}, nil
}

// chunks returns the values of a turn's records.
func (c *codec) chunks(parent, self link, t Turn) [][]byte {
	raw := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64+t.size()), uint64(len(t.Input)))
	raw = append(append(raw, t.Input...), t.Output...)
	packed := c.encoder.EncodeAll(raw, nil)
	n := max(1, (len(packed)+chunkData-1)/chunkData)

	chunks := make([][]byte, 0, n)
	for i := range n {
		data := packed[i*chunkData : min(len(packed), (i+1)*chunkData)]
		b := append(make([]byte, 0, headRoom+len(data)), turnFormat)
		b = append(b, self[:]...)
		if i == 0 {
			b = append(b, parent[:]...)
			b = binary.AppendUvarint(b, uint64(n))
			b = binary.AppendUvarint(b, uint64(len(raw)))
		}
		chunks = append(chunks, append(b, data...))
	}
	return chunks
}

// head is what the first chunk of a turn says.
type head struct {
	self, parent link
	chunks, raw  uint64
	data         []byte
}

func parseHead(b []byte) (h head, err error) {
	if h.self, b, err = parseChunk(b); err != nil {
		return head{}, err
	}
	if len(b) < len(h.parent) {
		return head{}, errTorn
	}
	copy(h.parent[:], b)
	b = b[len(h.parent):]
	for _, field := range []*uint64{&h.chunks, &h.raw} {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return head{}, errTorn
		}
		*field, b = v, b[n:]
	}
	h.data = b
	return h, nil
}

// parseChunk splits any chunk into its turn's link and what follows.
func parseChunk(b []byte) (link, []byte, error) {
	if len(b) < chunkPrefix || b[0] != turnFormat {
		return link{}, nil, errTorn
	}
	return link(b[1:chunkPrefix]), b[chunkPrefix:], nil
}

// unpack restores a turn from its head and the chunks that follow it, using at
// most budget bytes.
func (c *codec) unpack(h head, rest [][]byte, budget uint64) (Turn, error) {
	if h.raw > budget {
		return Turn{}, ErrHistoryLimit
	}
	packed := h.data
	if len(rest) > 0 {
		packed = bytes.Join(append([][]byte{h.data}, rest...), nil)
	}
	raw, err := c.decoder.DecodeAll(packed, make([]byte, 0, h.raw))
	if err != nil || uint64(len(raw)) != h.raw {
		return Turn{}, errTorn
	}
	input, n := binary.Uvarint(raw)
	if n <= 0 || input > uint64(len(raw)-n) {
		return Turn{}, errTorn
	}
	body := raw[n:]
	return Turn{Input: body[:input:input], Output: body[input:]}, nil
}

// chunkSort orders the records of a partition by line, then depth, then chunk.
func chunkSort(line string, depth, chunk int) string {
	b := make([]byte, 0, len(line)+16)
	b = append(b, line...)
	b = appendPadded(append(b, '/'), depth, 6)
	b = appendPadded(append(b, '/'), chunk, 6)
	return string(b)
}

func appendPadded(b []byte, n, width int) []byte {
	digits := strconv.Itoa(n)
	for range width - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}
