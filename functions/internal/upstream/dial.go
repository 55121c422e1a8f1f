package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivateAddress says that a connection's host resolved to an address
// inside somebody's own network and that the connection does not allow it.
var ErrPrivateAddress = errors.New("upstream: the host resolves to a private address and the connection does not set allow_private_network")

// Bounds of making a connection.
const (
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	keepAlive   = 30 * time.Second
	idleConns   = 1024
	hostConns   = 256 // idle ones kept for one host
	idleConnAge = 90 * time.Second
	maxHeader   = 256 << 10
	readBuffer  = 32 << 10 // of a connection: events that arrive together are read together
)

// transport returns a round tripper that follows no proxy and decompresses
// nothing: what the provider sends is what is read. Private addresses are
// refused after name resolution, where a changed DNS answer cannot slip past.
func transport(private, keep bool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	if !private {
		dialer.ControlContext = refusePrivate
	}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    hostConns,
		IdleConnTimeout:        idleConnAge,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		DisableKeepAlives:      !keep,
		ForceAttemptHTTP2:      true,
		ReadBufferSize:         readBuffer,
	}
}

// refusePrivate is a dialer's control function.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("upstream: address after resolution: %w", err)
	}
	if !public(to.Addr()) {
		return ErrPrivateAddress
	}
	return nil
}

// reserved are the special-purpose ranges that netip has no predicate for.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT, and some clouds' metadata
		netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("100::/64"),
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("fec0::/10"),
	}
}

// public reports whether an address is one of the open Internet. Addresses
// that carry an IPv4 one inside (mapped, NAT64, 6to4) are judged by it.
func public(a netip.Addr) bool {
	a = embedded(a.Unmap().WithZone(""))
	if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}
