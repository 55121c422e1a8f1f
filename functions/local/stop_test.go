package main

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutlasting: what a stop leaves to the bootstraps ends a while after it
// began, however long the part before took, and not before.
func TestOutlasting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		left, cancel := outlasting(ctx, grace)
		defer cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		if left.Err() != nil {
			t.Fatal("it has ended without a stop")
		}
		stop()
		time.Sleep(grace - time.Millisecond)
		synctest.Wait()
		if left.Err() != nil {
			t.Error("it has ended within the grace period")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if left.Err() == nil {
			t.Error("it goes on after the grace period")
		}
	})
}

// TestReachable: what is printed for a client to use is an address that it can
// use.
func TestReachable(t *testing.T) {
	for at, want := range map[string]string{
		"0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "127.0.0.1:8080", "127.0.0.1:8080": "127.0.0.1:8080",
		"[::1]:8080": "[::1]:8080", "192.0.2.7:80": "192.0.2.7:80",
	} {
		address, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(address); got != want {
			t.Errorf("%s is shown as %s, want %s", at, got, want)
		}
	}
}
