package accounts_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"holdfast/localstack/accounts"
)

// An account that is down keeps its port: a connection of somebody else's that got
// it would keep the account from coming back, a server would answer in its place.
func TestDownKeepsThePort(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	at, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(fleet.URL("alpha"), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	from := net.Dialer{LocalAddr: at}
	for range 2 {
		if err := fleet.Down("alpha"); err != nil {
			t.Fatal(err)
		}
		c, err := from.DialContext(t.Context(), "tcp", strings.TrimPrefix(fleet.URL("bravo"), "http://"))
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("the port is somebody else's: %v", err)
		}
		if err := fleet.Up("alpha"); err != nil {
			t.Fatal(err)
		}
		ok(t, "POST", fleet.URL("alpha")+"/v1/chat/completions", hello)
	}
}
