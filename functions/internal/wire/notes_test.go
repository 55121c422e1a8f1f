package wire_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
)

func TestNote(t *testing.T) {
	list := wire.Note(nil, "seed")
	list = wire.Note(list, "seed")
	list = wire.Note(list, "")
	list = wire.Note(list, "x\r\ny: z,w\u00e4")
	if diff := cmp.Diff([]string{"seed", "x__y:_z_w_"}, list); diff != "" {
		t.Error(diff)
	}
	for n := range 1000 {
		list = wire.Note(list, strconv.Itoa(n)+strings.Repeat("n", 1000))
	}
	if len(list) != 64 || len(list[63]) > 64 {
		t.Errorf("%d notes, the last of %d bytes", len(list), len(list[len(list)-1]))
	}
}

func TestNamed(t *testing.T) {
	for client, want := range map[wire.Protocol]string{wire.Chat: "a", wire.Responses: "b", wire.Messages: "c", "": "a"} {
		if got := (&wire.Dialog{Client: client}).Named("a", "b", "c"); got != want {
			t.Errorf("%s: %s", client, got)
		}
	}
}
